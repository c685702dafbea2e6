#include "model/kernel/kernel_faults.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

constexpr size_t kMaxNameLength = 64;

bool IsOutside(int32_t index, size_t count) {
  return index < 0 || static_cast<size_t>(index) >= count;
}

}  // namespace

bool IsLowerName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  if (!absl::ascii_islower(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) || c == '_';
  });
}

bool IsIdentifier(absl::string_view name, bool underscore) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(name[0])) &&
      !(underscore && name[0] == '_')) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

void KernelFaults::CheckUnique(absl::string_view field, const std::string& name,
                               std::set<std::string>& seen) {
  if (seen.insert(absl::AsciiStrToLower(name)).second) return;
  Add(field, ": name '", name,
      "' is used twice (case does not count); rename one");
}

void KernelFaults::CheckSource(const std::string& field,
                               const std::string& source) {
  const std::vector<absl::string_view> parts = absl::StrSplit(source, '/');
  const bool escapes =
      std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (source.empty() || source[0] == '/' || escapes ||
      absl::StrContains(source, '\0')) {
    Add(field, ": '", source,
        "' is no file in the kernel's folder; give a relative path without "
        "'..'");
  }
}

void KernelFaults::CheckCondition(const std::string& field,
                                  const Condition& condition, Scope scope) {
  if (condition.kind == Condition::Kind::kComparison) {
    if (condition.op < Relation::Operator::kEqual ||
        condition.op > Relation::Operator::kMultipleOf) {
      Add(field,
          ": the operator is unknown; give one that docs/manifest.md has");
    }
    for (const Expression& side : condition.sides) {
      CheckSide(field, side, scope);
    }
  }
  for (const Condition& child : condition.children) {
    CheckCondition(field, child, scope);
  }
}

void KernelFaults::CheckSide(const std::string& field, const Expression& side,
                             Scope scope) {
  const size_t before = size();
  CheckNames(field, side, scope);
  if (size() != before) return;
  std::vector<int32_t> divisors;
  CollectZeroDivisors(side, divisors);
  CheckPositive(field, divisors);
}

void KernelFaults::CheckNames(const std::string& field, const Expression& side,
                              Scope scope) {
  switch (side.kind) {
    case Expression::Kind::kConstant:
      if (side.value >= -kExpressionLimit && side.value <= kExpressionLimit) {
        return;
      }
      return Add(field, ": coefficient ", side.value,
                 " is out of range; give at most 2^51 either way");
    case Expression::Kind::kParameter:
      if (IsOutside(static_cast<int32_t>(side.value),
                    spec_.parameters.size())) {
        Add(field, ": parameter number ", side.value,
            " does not exist; declare it");
      } else if (scope == Scope::kProblem) {
        Add(field, ": names parameter '",
            spec_.parameters[static_cast<size_t>(side.value)].name,
            "'; a precondition is for all configurations, move it to "
            "problem_predicates");
      }
      return;
    case Expression::Kind::kDimension:
      if (scope == Scope::kParameters) {
        Add(field,
            ": names a dimension; it holds for parameters only, move it to "
            "problem_predicates");
      } else if (scope == Scope::kDevice) {
        if (!IsOutside(static_cast<int32_t>(side.value), kDeviceFacts)) return;
        Add(field, ": device fact number ", side.value,
            " does not exist; use parameters and ", kComputeCapabilityName);
      } else if (IsOutside(static_cast<int32_t>(side.value),
                           spec_.dimensions.size())) {
        Add(field, ": dimension number ", side.value,
            " does not exist; declare it");
      }
      return;
    case Expression::Kind::kSumOver:
    case Expression::Kind::kCausalBlocks:
      return Add(field,
                 ": has sum_over or causal_blocks, which are for mappings and "
                 "sizes; compare dimensions and parameters");
    default:
      for (const Expression& child : side.children) {
        CheckNames(field, child, scope);
      }
  }
}

void KernelFaults::CheckPositive(const std::string& field,
                                 const std::vector<int32_t>& parameters) {
  for (const int32_t index : parameters) {
    if (!CanBeZero(index)) continue;
    Add(field, ": parameter '",
        spec_.parameters[static_cast<size_t>(index)].name,
        "' can be 0 there; give values of at least 1");
  }
}

bool KernelFaults::CheckExpression(const std::string& field,
                                   const std::optional<Expression>& expression,
                                   bool positive) {
  if (!expression.has_value()) return false;
  const size_t before = size();
  FindExpressionFaults(spec_, *expression, field, lines_);
  if (size() != before) return false;
  if (positive) {
    std::vector<int32_t> zero;
    CanBeZero(*expression, zero);
    CheckPositive(field, zero);
  }
  return true;
}

bool KernelFaults::CheckParameterExpression(const std::string& field,
                                            const Expression& expression) {
  if (!CheckExpression(field, expression, /*positive=*/false)) return false;
  std::vector<int32_t> used;
  CollectDimensions(expression, used);
  if (!used.empty()) {
    Add(field, ": names a dimension; use parameters and constants");
    return false;
  }
  CollectZeroDivisors(expression, used);
  CheckPositive(field, used);
  return true;
}

bool KernelFaults::CanBeZero(int32_t parameter) const {
  const auto& values = spec_.parameters[static_cast<size_t>(parameter)].values;
  return std::find(values.begin(), values.end(), 0) != values.end();
}

bool KernelFaults::CanBeZero(const Expression& expression,
                             std::vector<int32_t>& parameters) const {
  if (expression.kind == Expression::Kind::kParameter) {
    const auto index = static_cast<int32_t>(expression.value);
    if (!CanBeZero(index)) return false;
    if (std::find(parameters.begin(), parameters.end(), index) ==
        parameters.end()) {
      parameters.push_back(index);
    }
    return true;
  }
  if (expression.kind == Expression::Kind::kSum ||
      expression.kind == Expression::Kind::kMax) {
    std::vector<int32_t> of_terms;
    for (const Expression& term : expression.children) {
      // Divisors matter even where another term keeps the sum positive.
      if (!CanBeZero(term, of_terms)) {
        CollectZeroDivisors(expression, parameters);
        return false;
      }
    }
    parameters.insert(parameters.end(), of_terms.begin(), of_terms.end());
    return true;
  }
  bool any = false;
  for (const Expression& child : expression.children) {
    any |= CanBeZero(child, parameters);
  }
  return any;
}

void KernelFaults::CollectZeroDivisors(const Expression& expression,
                                       std::vector<int32_t>& parameters) const {
  const bool divides = expression.kind == Expression::Kind::kCeilDiv;
  for (size_t i = 0; i < expression.children.size(); ++i) {
    const Expression& child = expression.children[i];
    if (divides && i >= static_cast<size_t>(expression.split)) {
      CanBeZero(child, parameters);
    }
    CollectZeroDivisors(child, parameters);
  }
}

}  // namespace wavetune
