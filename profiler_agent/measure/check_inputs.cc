#include "profiler_agent/measure/check_inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/argument.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/kernel/mapping_structure.h"
#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {
namespace {

bool IsFloat(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kBfloat16;
}

// Where the loop's dimension lies in a row-major buffer.
struct LoopAxis {
  size_t extent = 1;
  size_t stride = 1;
};

void CollectFactors(const Expression& expression,
                    std::vector<const Expression*>& factors) {
  if (expression.kind != Expression::Kind::kProduct) {
    factors.push_back(&expression);
    return;
  }
  for (const Expression& child : expression.children) {
    CollectFactors(child, factors);
  }
}

// Returns the loop's axis where it is a factor of its own.
std::optional<LoopAxis> FindAxis(const KernelSpec& spec,
                                 const Argument& argument,
                                 const Problem& problem, int32_t loop) {
  std::vector<const Expression*> factors;
  CollectFactors(argument.size, factors);
  std::optional<LoopAxis> axis;
  for (const Expression* factor : factors) {
    if (factor->kind == Expression::Kind::kDimension && factor->value == loop &&
        !axis.has_value()) {
      axis = LoopAxis{.extent = static_cast<size_t>(
                          problem.extents[static_cast<size_t>(loop)])};
      continue;
    }
    if (Mentions(*factor, loop)) return std::nullopt;
    if (axis.has_value()) {
      axis->stride *= static_cast<size_t>(std::max<int64_t>(
          1, Evaluate(*factor, problem.View(), spec.default_configuration)));
    }
  }
  return axis;
}

// Returns the dimension that drives the loop at a problem, or -1.
int32_t LoopDimension(const KernelSpec& spec, const Problem& problem) {
  const absl::StatusOr<MappingStructure> structure =
      AnalyseMapping(spec, spec.MappingOf(problem.specialisation));
  if (!structure.ok() || structure->loop_dimension < 0) return -1;
  const int32_t loop = structure->loop_dimension;
  return spec.dimensions[static_cast<size_t>(loop)].repeated ? -1 : loop;
}

// The plan for one input.
struct Mirroring {
  std::optional<LoopAxis> axis;
  bool carries_sign = false;  // The second half is negative.
};

Mirroring PlanMirroring(const KernelSpec& spec, size_t argument,
                        const Problem& problem, size_t elements) {
  const int32_t loop = LoopDimension(spec, problem);
  std::optional<size_t> first_float;
  std::optional<size_t> carrier;
  Mirroring plan;
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& other = spec.arguments[i];
    if (!IsScaled(other)) continue;
    if (!first_float.has_value()) first_float = i;
    const std::optional<LoopAxis> axis =
        loop < 0 ? std::nullopt : FindAxis(spec, other, problem, loop);
    if (axis.has_value() && !carrier.has_value()) carrier = i;
    if (i == argument) plan.axis = axis;
  }
  if (!carrier.has_value()) {
    carrier = first_float;
    if (carrier == argument) plan.axis = LoopAxis{.extent = elements};
  }
  plan.carries_sign = carrier == argument;
  return plan;
}

float CancellingValue(const Mirroring& plan, size_t index, uint64_t seed) {
  size_t folded = index;
  bool negative = false;
  if (plan.axis.has_value()) {
    const size_t k = index / plan.axis->stride % plan.axis->extent;
    const size_t mirror = plan.axis->extent - 1 - k;
    if (k > mirror) {
      folded = index - (k - mirror) * plan.axis->stride;
      // The middle stays, or every result would be 0.
      negative = plan.carries_sign && mirror < (plan.axis->extent - 1) / 2;
    }
  }
  const uint64_t hash = SplitMixHash((folded + 1) * 0x9e3779b97f4a7c15u +
                                     seed * 0xd1342543de82ef95u);
  if (!plan.axis.has_value()) negative = (hash & 8) != 0;
  const float value = static_cast<float>((hash & 7) + 1) / 8;
  return negative ? -value : value;
}

}  // namespace

bool HasDataOf(const KernelSpec& spec, CheckData data) {
  return data == CheckData::kRandom ||
         std::any_of(spec.arguments.begin(), spec.arguments.end(), IsScaled);
}

std::string CheckInput(const KernelSpec& spec, size_t argument,
                       const Problem& problem,
                       const Configuration& configuration, size_t elements,
                       CheckData data, uint64_t seed) {
  const Argument& input = spec.arguments[argument];
  if (data != CheckData::kCancelling || !IsScaled(input)) {
    return InputValues(spec, input, problem, configuration, elements, seed,
                       data == CheckData::kLarge ? kLargeScale : 1);
  }
  const Mirroring plan = PlanMirroring(spec, argument, problem, elements);
  if (input.type == ElementType::kFloat32) {
    return GenerateValues<float>(
        elements, [&](size_t i) { return CancellingValue(plan, i, seed); });
  }
  return GenerateValues<uint16_t>(elements, [&](size_t i) {
    return ToBfloat16(CancellingValue(plan, i, seed));
  });
}

std::string Magnitudes(ElementType type, std::string content) {
  if (!IsFloat(type)) return content;
  const size_t bytes = ElementBytes(type);
  // The last byte of a little-endian float has the sign.
  for (size_t i = bytes - 1; i < content.size(); i += bytes) {
    content[i] = static_cast<char>(content[i] & 0x7f);
  }
  return content;
}

std::string Nudged(ElementType type, std::string content, double share,
                   uint64_t seed) {
  if (!IsFloat(type)) return content;
  // In [-1, 1).
  const auto direction = [seed](size_t i) {
    const uint64_t hash =
        SplitMixHash((i + 1) * 0x9e3779b97f4a7c15u ^ (seed + 1));
    return static_cast<double>(static_cast<int64_t>(hash >> 11)) * 0x1p-52 - 1;
  };
  const auto moved = [&](size_t i, float value) {
    const double least = type == ElementType::kBfloat16 ? 0x1p-8 : 0;
    return static_cast<float>(value *
                              (1 + std::max(share, least) * direction(i)));
  };
  if (type == ElementType::kFloat32) {
    return GenerateValues<float>(content.size() / sizeof(float), [&](size_t i) {
      float value = 0;
      std::memcpy(&value, content.data() + i * sizeof(value), sizeof(value));
      return moved(i, value);
    });
  }
  return GenerateValues<uint16_t>(
      content.size() / sizeof(uint16_t), [&](size_t i) {
        uint16_t bits = 0;
        std::memcpy(&bits, content.data() + i * sizeof(bits), sizeof(bits));
        return ToBfloat16(
            moved(i, std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)));
      });
}

}  // namespace wavetune
