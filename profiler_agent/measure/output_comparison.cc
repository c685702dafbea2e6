#include "profiler_agent/measure/output_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// How elements of a type are stored, and the relative distance of neighbours.
struct Float32 {
  using Stored = float;
  static double Value(Stored stored) { return stored; }
};
struct Bfloat16 {
  using Stored = uint16_t;
  static double Value(Stored stored) {
    return std::bit_cast<float>(static_cast<uint32_t>(stored) << 16);
  }
};
struct Int32 {
  using Stored = int32_t;
  static double Value(Stored stored) { return stored; }
};
struct Int64 {
  using Stored = int64_t;
  static double Value(Stored stored) { return static_cast<double>(stored); }
};

double StepOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return 0x1p-22;  // Two.
    case ElementType::kBfloat16:
      return 0x1p-7;
    case ElementType::kInt32:
    case ElementType::kInt64:
      return 0;
  }
  return 0;
}

template <typename Type>
double Element(absl::string_view bytes, size_t index) {
  typename Type::Stored stored;
  std::memcpy(&stored, bytes.data() + index * sizeof(stored), sizeof(stored));
  return Type::Value(stored);
}

// Calls `visit` with the type of the elements.
template <typename Visit>
auto WithType(ElementType type, Visit visit) {
  switch (type) {
    case ElementType::kInt32:
      return visit(Int32());
    case ElementType::kInt64:
      return visit(Int64());
    case ElementType::kBfloat16:
      return visit(Bfloat16());
    case ElementType::kFloat32:
      break;
  }
  return visit(Float32());
}

// Returns the elements in double; those that are not finite or larger than
// `most` count as 0 and `most`.
std::vector<double> Terms(ElementType type, absl::string_view magnitudes,
                          double most) {
  return WithType(type, [&](auto stored) {
    using Type = decltype(stored);
    std::vector<double> terms(magnitudes.size() /
                              sizeof(typename Type::Stored));
    for (size_t i = 0; i < terms.size(); ++i) {
      const double term = std::abs(Element<Type>(magnitudes, i));
      terms[i] = std::isfinite(term) ? std::min(term, most) : 0;
    }
    return terms;
  });
}

double Norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

template <typename Type>
std::vector<double> Values(absl::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(typename Type::Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Element<Type>(bytes, i);
  }
  return values;
}

std::vector<double> ValuesOf(ElementType type, absl::string_view bytes) {
  return WithType(type,
                  [&](auto stored) { return Values<decltype(stored)>(bytes); });
}

// Returns the magnitudes of the elements; of what is added to `before`, where
// there is something.
std::vector<double> SizesOf(ElementType type, std::vector<double> values,
                            absl::string_view before) {
  const std::vector<double> began = ValuesOf(type, before);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::abs(values[i] - (began.empty() ? 0 : began[i]));
  }
  return values;
}

// Returns how far apart an element is. Integers of 64 bits that differ may be
// one double.
template <typename Type>
double Apart(absl::string_view a, absl::string_view b, size_t index) {
  const double apart =
      std::abs(Element<Type>(a, index) - Element<Type>(b, index));
  if constexpr (std::is_same_v<Type, Int64>) {
    constexpr size_t kBytes = sizeof(typename Type::Stored);
    const bool equal =
        a.substr(index * kBytes, kBytes) == b.substr(index * kBytes, kBytes);
    return equal ? 0 : std::max(apart, 1.0);
  }
  return apart;
}

// Where and how an output is wrong.
struct Difference {
  double norm = 0;
  size_t wrong = 0;  // Elements.
  size_t first = 0;
};

// Compares with `factor` times each element's limit.
template <typename Type>
Difference Compare(const ExpectedOutput& expected, absl::string_view out,
                   double factor) {
  Difference difference;
  double sum = 0;
  for (size_t i = 0; i < expected.limits.size(); ++i) {
    const double off = Apart<Type>(out, expected.content, i);
    sum += off * off;
    if (off <= factor * expected.limits[i]) continue;  // Not NaN.
    if (difference.wrong++ == 0) difference.first = i;
  }
  difference.norm = std::sqrt(sum);
  return difference;
}

// Returns why one element is wrong.
std::string Explain(double is, double should_be) {
  return absl::StrCat(
      " (", is, " where ", should_be, " is right",
      std::isnan(is) ? "; NaN is what is not written, or what is computed from "
                       "outside of an input"
                     : "",
      ")");
}

}  // namespace

ExpectedOutput ExpectedFrom(ElementType type, std::string content,
                            absl::string_view magnitudes,
                            const ComparisonRule& rule) {
  const std::vector<double> values = ValuesOf(type, content);
  const std::vector<double> sizes = SizesOf(type, values, rule.before);
  const std::vector<double> terms =
      Terms(type, magnitudes, rule.most_magnitude);
  const double count = std::max<double>(1, static_cast<double>(values.size()));
  const double root = std::sqrt(count);
  const double step = StepOf(type);
  const double sum_error = step == 0 ? 0 : rule.sum_error;
  ExpectedOutput expected;
  expected.norm = Norm(values);
  const double terms_norm = Norm(terms);
  // Where the reference is 0 throughout, the tolerance is absolute.
  const double sizes_norm = Norm(sizes);
  const double rms = sizes_norm == 0 ? 1 : sizes_norm / root;
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double own = sizes[i];
    largest = std::max(largest, own);
    const double share =
        terms_norm == 0 ? 1 : std::max(1.0, terms[i] * root / terms_norm);
    expected.limits.push_back(
        static_cast<float>(kElementToleranceFactor * rule.relative_tolerance *
                               std::max(own, rms * share) +
                           step * own + sum_error * terms[i]));
  }
  expected.norm_limit =
      rule.relative_tolerance * (sizes_norm == 0 ? 1 : sizes_norm) +
      step * largest + sum_error * terms_norm;
  expected.content = std::move(content);
  return expected;
}

ExpectedOutput ExpectedNear(ElementType type, std::string content,
                            absl::string_view nudged, double relative_tolerance,
                            absl::string_view before) {
  const std::vector<double> values = ValuesOf(type, content);
  const std::vector<double> sizes = SizesOf(type, values, before);
  std::vector<double> moved = ValuesOf(type, nudged);
  for (size_t i = 0; i < moved.size(); ++i) {
    moved[i] = std::abs(moved[i] - values[i]);
  }
  const double root =
      std::sqrt(std::max<double>(1, static_cast<double>(values.size())));
  const double step = StepOf(type);
  const double moved_norm = Norm(moved);
  const double sizes_norm = Norm(sizes);
  ExpectedOutput expected;
  expected.norm = Norm(values);
  const double rms = sizes_norm == 0 ? 1 : sizes_norm / root;
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, sizes[i]);
    expected.limits.push_back(
        static_cast<float>(kElementToleranceFactor *
                               (relative_tolerance * std::max(sizes[i], rms) +
                                std::max(moved[i], moved_norm / root)) +
                           step * sizes[i]));
  }
  expected.norm_limit =
      relative_tolerance * (sizes_norm == 0 ? 1 : sizes_norm) + step * largest +
      kElementToleranceFactor * moved_norm;
  expected.content = std::move(content);
  return expected;
}

absl::Status CompareOutput(const KernelSpec& spec, const Argument& argument,
                           const Problem& problem,
                           const ExpectedOutput& expected,
                           absl::string_view out) {
  if (out == expected.content) return absl::OkStatus();
  return WithType(argument.type, [&](auto stored) -> absl::Status {
    using Type = decltype(stored);
    Difference difference = Compare<Type>(expected, out, 1);
    const bool norm_holds = difference.norm <= expected.norm_limit;
    if (norm_holds && difference.wrong == 0) return absl::OkStatus();
    if (difference.wrong == 0) {  // Each is off by a little.
      difference = Compare<Type>(expected, out, 1 / kElementToleranceFactor);
    }
    std::string where = "no element is off by much, but many are";
    if (difference.wrong > 0) {
      where = absl::StrCat(
          "first wrong at ", PlaceOf(argument, problem, difference.first), "; ",
          WithCommas(difference.wrong), " of ",
          WithCommas(expected.limits.size()),
          Explain(Element<Type>(out, difference.first),
                  Element<Type>(expected.content, difference.first)));
    }
    return absl::DataLossError(absl::StrCat(
        "output '", argument.name, "' at ", FormatProblem(spec, problem), ": ",
        where, "; relative error ",
        difference.norm / (expected.norm == 0 ? 1 : expected.norm),
        expected.norm_limit == 0
            ? ", and integers that come of integers are compared exactly"
            : absl::StrCat(", tolerance ",
                           spec.correctness->relative_tolerance)));
  });
}

int64_t FirstNotFinite(ElementType type, absl::string_view content) {
  return WithType(type, [&](auto stored) -> int64_t {
    using Type = decltype(stored);
    const size_t count = content.size() / sizeof(typename Type::Stored);
    for (size_t i = 0; i < count; ++i) {
      if (!std::isfinite(Element<Type>(content, i))) {
        return static_cast<int64_t>(i);
      }
    }
    return -1;
  });
}

std::string PlaceOf(const Argument& argument, const Problem& problem,
                    size_t index) {
  const Expression& size = argument.size;
  const bool is_matrix =
      size.kind == Expression::Kind::kProduct && size.children.size() == 2 &&
      size.children[0].kind == Expression::Kind::kDimension &&
      size.children[1].kind == Expression::Kind::kDimension;
  if (!is_matrix) return absl::StrCat("element ", index);
  const auto columns = static_cast<size_t>(std::max<int64_t>(
      1, problem.extents[static_cast<size_t>(size.children[1].value)]));
  return absl::StrCat("row ", index / columns, ", column ", index % columns);
}

absl::Status BrokenReference(const absl::Status& status) {
  if (status.ok() || absl::IsUnavailable(status) ||
      absl::IsResourceExhausted(status)) {
    return status;
  }
  return absl::UnimplementedError(
      absl::StrCat("the reference kernel is broken: ", status.message()));
}

}  // namespace wavetune
