#include "profiler_agent/measure/buffer_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "profiler_agent/measure/element_blocks.h"

namespace wavetune {
namespace {

constexpr size_t kPatternElements = 4194301;

// SplitMix64: three multiplications a value.
// std::uniform_real_distribution is not the same everywhere, and slower.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return SplitMixHash(state_ += 0x9e3779b97f4a7c15u); }
  // In [-1, 1), a multiple of 2^-23: exact in float.
  double NextUniform() {
    return static_cast<double>(static_cast<int64_t>(Next() >> 40) - (1 << 23)) *
           0x1p-23;
  }
  // Of mean 0 and deviation 1, in (-6, 6): a sum of twelve uniform numbers,
  // since no library's logarithm is the same everywhere.
  double NextNormal() {
    int64_t sum = 0;
    for (int words = 0; words < 3; ++words) {
      for (uint64_t bits = Next(), i = 0; i < 4; ++i, bits >>= 16) {
        sum += static_cast<int64_t>(bits & 0xffff);
      }
    }
    return static_cast<double>(sum - 6 * 0xffff) * 0x1p-16;
  }

 private:
  uint64_t state_;
};

// A random order of the numbers below `count` >= 1: a Feistel network over the
// next power of four, walked until it is back among them (Black and Rogaway,
// Ciphers with arbitrary finite domains, CT-RSA 2002).
class Shuffle {
 public:
  Shuffle(uint64_t count, uint64_t seed)
      : count_(count),
        seed_(seed),
        half_((std::bit_width(count - 1) + 1) / 2),
        mask_((uint64_t{1} << half_) - 1) {}

  // `i` < count.
  int64_t At(uint64_t i) const {
    do {
      i = Permuted(i);
    } while (i >= count_);
    return static_cast<int64_t>(i);
  }

 private:
  uint64_t Permuted(uint64_t i) const {
    uint64_t left = i >> half_;
    uint64_t right = i & mask_;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t hash =
          SplitMixHash(right + round * 0x9e3779b97f4a7c15u + seed_);
      left = std::exchange(right, left ^ (hash & mask_));
    }
    return left << half_ | right;
  }

  const uint64_t count_;
  const uint64_t seed_;
  const int half_;
  const uint64_t mask_;
};

// Returns the integer `make(i)` for every element, in the integer type `type`.
template <typename Make>
std::string Integers(ElementType type, size_t elements, Make make) {
  if (type == ElementType::kInt32) {
    return GenerateValues<int32_t>(
        elements, [&](size_t i) { return static_cast<int32_t>(make(i)); });
  }
  return GenerateValues<int64_t>(elements, make);
}

// Returns the float `make()` for every element, in the float type `type`.
template <typename Make>
std::string Floats(ElementType type, size_t elements, Make make) {
  if (type == ElementType::kFloat32) {
    return GenerateValues<float>(
        elements, [&](size_t) { return static_cast<float>(make()); });
  }
  return GenerateValues<uint16_t>(
      elements, [&](size_t) { return ToBfloat16(static_cast<float>(make())); });
}

}  // namespace

std::string RandomValues(const Argument& argument, size_t elements,
                         uint64_t seed, double scale) {
  SplitMix random(seed);
  if (IsInteger(argument.type)) {
    return Integers(argument.type, elements, [&](size_t) {
      return static_cast<int64_t>(random.Next());
    });
  }
  if (!argument.values.has_value()) {
    return Floats(argument.type, elements,
                  [&] { return scale * random.NextUniform(); });
  }
  // std::fma: no compiler rounds it otherwise.
  const double first = argument.values->first;
  const double second = argument.values->second;
  if (argument.values->kind == FloatValues::Kind::kNormal) {
    return Floats(argument.type, elements,
                  [&] { return std::fma(second, random.NextNormal(), first); });
  }
  const double middle = (first + second) / 2;
  const double half = (second - first) / 2;
  return Floats(argument.type, elements,
                [&] { return std::fma(half, random.NextUniform(), middle); });
}

bool IsScaled(const Argument& argument) {
  return HoldsValues(argument) && !IsInteger(argument.type) &&
         !argument.values.has_value();
}

double MostMagnitude(const Argument& argument, std::optional<int64_t> below) {
  if (IsInteger(argument.type)) {
    return std::max(1.0, below.has_value() ? static_cast<double>(*below)
                         : argument.type == ElementType::kInt32 ? 0x1p31
                                                                : 0x1p63);
  }
  if (!argument.values.has_value()) return 1;
  const double first = std::abs(argument.values->first);
  const double second = std::abs(argument.values->second);
  return std::max(1.0, argument.values->kind == FloatValues::Kind::kNormal
                           ? first + 6 * second
                           : std::max(first, second));
}

std::string IndexValues(ElementType type, size_t elements, int64_t below,
                        uint64_t seed) {
  constexpr int64_t kMostInt32 = int64_t{1} << 31;
  const int64_t values =
      type == ElementType::kInt32 ? std::min(below, kMostInt32) : below;
  const Shuffle shuffle(static_cast<uint64_t>(values), seed);
  return Integers(type, elements, [&](size_t i) {
    return shuffle.At(i % static_cast<uint64_t>(values));
  });
}

std::optional<int64_t> BelowOf(const Argument& argument, const Problem& problem,
                               const Configuration& configuration) {
  if (!argument.below.has_value()) return std::nullopt;
  return std::max<int64_t>(
      1, Evaluate(*argument.below, problem.View(), configuration));
}

std::optional<int64_t> BlockOf(const Argument& argument,
                               const Configuration& configuration) {
  if (!argument.blocks.has_value()) return std::nullopt;
  return std::max<int64_t>(
      1, Evaluate(argument.blocks->block, ProblemView(), configuration));
}

bool FollowsElements(const KernelSpec& spec, const Argument& argument) {
  return argument.blocks.has_value() || spec.RepeatedDimensionOf(argument) >= 0;
}

std::string InputValues(const KernelSpec& spec, const Argument& argument,
                        const Problem& problem,
                        const Configuration& configuration, size_t elements,
                        uint64_t seed, double scale) {
  if (spec.RepeatedDimensionOf(argument) >= 0) {
    return Integers(argument.type, elements, [&](size_t i) {
      return i < problem.repeated.size() ? problem.repeated[i] : int64_t{0};
    });
  }
  if (const auto block = BlockOf(argument, configuration)) {
    const std::vector<int64_t> values = BlockValues(
        argument.blocks->kind, problem.repeated, *block, elements, seed);
    return Integers(argument.type, elements,
                    [&](size_t i) { return values[i]; });
  }
  if (const auto below = BelowOf(argument, problem, configuration)) {
    return IndexValues(argument.type, elements, *below, seed);
  }
  return RandomValues(argument, elements, seed, scale);
}

std::string ValuePattern(const Argument& argument, std::optional<int64_t> below,
                         size_t bytes, uint64_t seed) {
  const size_t elements =
      std::min(kPatternElements, bytes / ElementBytes(argument.type));
  return below.has_value() ? IndexValues(argument.type, elements, *below, seed)
                           : RandomValues(argument, elements, seed);
}

absl::StatusOr<size_t> BufferBytes(const Argument& argument,
                                   const Problem& problem,
                                   const Configuration& configuration) {
  const int64_t elements =
      Evaluate(argument.size, problem.View(), configuration);
  if (elements >= kExpressionLimit) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "argument ", argument.name, " has more than 2^51 elements"));
  }
  return static_cast<size_t>(std::max<int64_t>(elements, 1)) *
         ElementBytes(argument.type);
}

}  // namespace wavetune
