#include "model/kernel/expression_faults.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

void AppendOnce(int64_t value, std::vector<int32_t>& values) {
  const auto index = static_cast<int32_t>(value);
  if (std::find(values.begin(), values.end(), index) == values.end()) {
    values.push_back(index);
  }
}

// Checks one expression tree.
class Checker {
 public:
  Checker(const KernelSpec& spec, absl::string_view field,
          std::vector<std::string>& faults)
      : spec_(spec), field_(field), faults_(faults) {}

  // `summed`: under a sum_over; `denominator`: below a fraction bar.
  void Check(const Expression& expression, bool summed, bool denominator) {
    switch (expression.kind) {
      case Expression::Kind::kConstant:
        if (expression.value < 1 || expression.value > kExpressionLimit) {
          Add("constant ", expression.value,
              " is out of range; give a number from 1 to 2^51");
        }
        return;
      case Expression::Kind::kDimension:
        return CheckDimension(expression, summed, denominator);
      case Expression::Kind::kParameter:
        return CheckParameter(expression);
      case Expression::Kind::kCeilDiv:
        return CheckCeilDiv(expression, summed, denominator);
      case Expression::Kind::kProduct:
        if (expression.children.empty()) {
          Add("is empty; give a constant, dimension, parameter, ceil_div, "
              "product, sum, sum_over or causal_blocks");
        }
        for (const Expression& child : expression.children) {
          Check(child, summed, denominator);
        }
        return;
      case Expression::Kind::kSumOver:
        return CheckSumOver(expression, summed, denominator);
      case Expression::Kind::kCausalBlocks:
        return CheckCausalBlocks(expression, summed, denominator);
      case Expression::Kind::kSum:
        return CheckSum(expression, summed, denominator);
      case Expression::Kind::kNegative:
        return CheckOperands(expression, 1, summed, denominator);
      case Expression::Kind::kExactDiv:
      case Expression::Kind::kFloorDiv:
      case Expression::Kind::kRemainder:
        return CheckOperands(expression, 2, summed, denominator);
      case Expression::Kind::kMin:
      case Expression::Kind::kMax:
        return CheckOperands(expression, expression.children.size(), summed,
                             denominator);
    }
    Add("is of an unknown kind; give one that docs/manifest.md has");
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    faults_.push_back(absl::StrCat(field_, ": ", parts...));
  }

  bool HasDimension(int64_t index) {
    if (index >= 0 && index < static_cast<int64_t>(spec_.dimensions.size())) {
      return true;
    }
    Add("dimension number ", index, " does not exist; declare it");
    return false;
  }

  void CheckDimension(const Expression& expression, bool summed,
                      bool denominator) {
    if (!HasDimension(expression.value)) return;
    const Dimension& dimension =
        spec_.dimensions[static_cast<size_t>(expression.value)];
    if (dimension.repeated && !summed) {
      Add("repeated dimension '", dimension.name,
          "' stands outside of sum_over; sum over it");
    }
    if (denominator) {
      Add("dimension '", dimension.name,
          "' is in a denominator; only parameters and constants can be");
    }
  }

  void CheckParameter(const Expression& expression) {
    if (expression.value < 0 ||
        expression.value >= static_cast<int64_t>(spec_.parameters.size())) {
      Add("parameter number ", expression.value, " does not exist; declare it");
    }
  }

  void CheckCeilDiv(const Expression& expression, bool summed,
                    bool denominator) {
    const auto size = static_cast<int32_t>(expression.children.size());
    if (denominator) {
      Add("ceil_div is in a denominator; only parameters and constants can be");
    }
    if (expression.split < 1 || expression.split >= size) {
      Add("ceil_div lacks a numerator or a denominator; give both");
      return;
    }
    for (int32_t i = 0; i < size; ++i) {
      Check(expression.children[static_cast<size_t>(i)], summed,
            i >= expression.split);
    }
  }

  void CheckSum(const Expression& expression, bool summed, bool denominator) {
    if (expression.children.empty()) Add("sum lacks its terms; give one");
    for (const Expression& child : expression.children) {
      // m - 1 is the sum of m and -1.
      const bool subtracted = child.kind == Expression::Kind::kConstant &&
                              child.value < 0 &&
                              child.value >= -kExpressionLimit;
      if (!subtracted) Check(child, summed, denominator);
    }
  }

  // The second of a quotient's or remainder's two operands divides.
  void CheckOperands(const Expression& expression, size_t count, bool summed,
                     bool denominator) {
    if (expression.children.empty() || expression.children.size() != count) {
      Add("an operation has ", expression.children.size(),
          " operands; give 1 to a negation, 2 to a quotient or remainder, and "
          "at least 1 to min and max");
      return;
    }
    const bool divides = expression.kind == Expression::Kind::kExactDiv ||
                         expression.kind == Expression::Kind::kFloorDiv ||
                         expression.kind == Expression::Kind::kRemainder;
    for (size_t i = 0; i < count; ++i) {
      Check(expression.children[i], summed, denominator || (divides && i == 1));
    }
  }

  void CheckSumOver(const Expression& expression, bool summed,
                    bool denominator) {
    if (summed) Add("sum_over inside of sum_over; write it as a product");
    if (denominator) {
      Add("sum_over is in a denominator; only parameters and constants can be");
    }
    if (HasDimension(expression.value) &&
        !spec_.dimensions[static_cast<size_t>(expression.value)].repeated) {
      Add("sum_over dimension '",
          spec_.dimensions[static_cast<size_t>(expression.value)].name,
          "', which is not repeated; declare it repeated or drop the sum");
    }
    if (expression.children.size() != 1) {
      Add("sum_over lacks its term; give one");
      return;
    }
    Check(expression.children[0], /*summed=*/true, /*denominator=*/false);
  }

  void CheckCausalBlocks(const Expression& expression, bool summed,
                         bool denominator) {
    if (denominator) {
      Add("causal_blocks is in a denominator; only parameters and constants "
          "can be");
    }
    bool complete = expression.children.size() == 4;
    for (size_t i = 0; complete && i < 4; ++i) {
      const Expression::Kind kind = expression.children[i].kind;
      complete = i < 2 ? kind == Expression::Kind::kDimension
                       : kind == Expression::Kind::kParameter ||
                             kind == Expression::Kind::kConstant;
    }
    if (!complete) {
      Add("causal_blocks needs dimensions seq_q and seq_kv and parameters or "
          "numbers block_q and block_kv; give all four");
      return;
    }
    for (const Expression& child : expression.children) {
      Check(child, summed, /*denominator=*/false);
    }
  }

  const KernelSpec& spec_;
  const absl::string_view field_;
  std::vector<std::string>& faults_;
};

}  // namespace

void FindExpressionFaults(const KernelSpec& spec, const Expression& expression,
                          absl::string_view field,
                          std::vector<std::string>& faults) {
  Checker(spec, field, faults)
      .Check(expression, /*summed=*/false, /*denominator=*/false);
}

void CollectDimensions(const Expression& expression,
                       std::vector<int32_t>& dimensions) {
  if (expression.kind == Expression::Kind::kDimension ||
      expression.kind == Expression::Kind::kSumOver) {
    AppendOnce(expression.value, dimensions);
  }
  for (const Expression& child : expression.children) {
    CollectDimensions(child, dimensions);
  }
}

void CollectParameters(const Expression& expression,
                       std::vector<int32_t>& parameters) {
  if (expression.kind == Expression::Kind::kParameter) {
    AppendOnce(expression.value, parameters);
  }
  for (const Expression& child : expression.children) {
    CollectParameters(child, parameters);
  }
}

bool Mentions(const Expression& expression, int32_t dimension) {
  const bool itself = expression.kind == Expression::Kind::kDimension ||
                      expression.kind == Expression::Kind::kSumOver;
  return (itself && expression.value == dimension) ||
         std::any_of(expression.children.begin(), expression.children.end(),
                     [dimension](const Expression& child) {
                       return Mentions(child, dimension);
                     });
}

}  // namespace wavetune
