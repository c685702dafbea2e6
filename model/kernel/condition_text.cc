#include "model/kernel/condition_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// What binds its operands more loosely stands in parentheses.
enum class Binding { kSum, kProduct, kFactor };

std::string Parenthesised(const std::string& text) {
  return absl::StrCat("(", text, ")");
}

// Whether a comparison of the condition holds without a value.
bool HoldsWithoutValue(const Condition& condition) {
  return condition.without_value ||
         std::any_of(condition.children.begin(), condition.children.end(),
                     HoldsWithoutValue);
}

// Whether the condition is what `when` makes of two.
bool IsGuarded(const Condition& condition) {
  return condition.kind == Condition::Kind::kAny &&
         condition.children.size() == 2 &&
         HoldsWithoutValue(condition.children[0]);
}

class Writer {
 public:
  explicit Writer(const KernelSpec& spec) : spec_(spec) {}

  std::string Whole(const Condition& condition) const {
    if (!IsGuarded(condition)) return Of(condition, /*inside=*/false);
    return absl::StrCat(Of(condition.children[1], /*inside=*/false), " when ",
                        Of(Complement(condition.children[0]),
                           /*inside=*/false));
  }

  std::string Of(const Condition& condition, bool inside) const {
    if (condition.kind == Condition::Kind::kComparison)
      return Comparison(condition);
    const bool all = condition.kind == Condition::Kind::kAll;
    if (condition.children.empty()) return all ? "0 == 0" : "0 == 1";
    std::vector<std::string> parts;
    const bool several = condition.children.size() > 1;
    for (const Condition& child : condition.children)
      parts.push_back(Of(child, several));
    const std::string text = absl::StrJoin(parts, all ? " and " : " or ");
    return inside && several ? Parenthesised(text) : text;
  }

  std::string Of(const Expression& expression, Binding outer) const {
    const std::vector<Expression>& children = expression.children;
    switch (expression.kind) {
      case Expression::Kind::kConstant:
        return absl::StrCat(expression.value);
      case Expression::Kind::kDimension:
        return Name(spec_.dimensions, expression.value);
      case Expression::Kind::kParameter:
        return Name(spec_.parameters, expression.value);
      case Expression::Kind::kProduct:
        return Joined(children, " * ", Binding::kProduct, outer);
      case Expression::Kind::kSum:
        return SumText(children, outer);
      case Expression::Kind::kNegative:
        return absl::StrCat("-", Of(children[0], Binding::kFactor));
      case Expression::Kind::kExactDiv:
        return Quotient(children, " / ", outer);
      case Expression::Kind::kRemainder:
        return Quotient(children, " % ", outer);
      case Expression::Kind::kFloorDiv:
        return Call("floor_div", children);
      case Expression::Kind::kMin:
        return Call("min", children);
      case Expression::Kind::kMax:
        return Call("max", children);
      case Expression::Kind::kCausalBlocks:
        return Call("causal_blocks", children);
      case Expression::Kind::kSumOver:
        return absl::StrCat("sum_over(",
                            Name(spec_.dimensions, expression.value), ", ",
                            Of(children[0], Binding::kSum), ")");
      case Expression::Kind::kCeilDiv:
        return CeilDivText(expression);
    }
    return "?";
  }

 private:
  template <typename Named>
  static std::string Name(const std::vector<Named>& named, int64_t index) {
    if (index < 0 || index >= static_cast<int64_t>(named.size())) return "?";
    return named[static_cast<size_t>(index)].name;
  }

  std::string Comparison(const Condition& comparison) const {
    const bool multiple = comparison.op == Relation::Operator::kMultipleOf;
    return absl::StrCat(
        Of(comparison.sides[0], multiple ? Binding::kProduct : Binding::kSum),
        " ", OperatorText(comparison.op), " ",
        Of(comparison.sides[1], multiple ? Binding::kFactor : Binding::kSum),
        multiple ? " == 0" : "");
  }

  std::string Joined(absl::Span<const Expression> children,
                     absl::string_view between, Binding own,
                     Binding outer) const {
    // A factor of 1 says nothing: relations have one in each term.
    std::vector<std::string> parts;
    for (const Expression& child : children) {
      const bool one = child.kind == Expression::Kind::kConstant &&
                       child.value == 1 && children.size() > 1;
      if (!one) parts.push_back(Of(child, own));
    }
    if (parts.empty()) parts.push_back("1");
    const std::string text = absl::StrJoin(parts, between);
    return parts.size() > 1 && outer > own ? Parenthesised(text) : text;
  }

  std::string SumText(const std::vector<Expression>& children,
                      Binding outer) const {
    std::string text;
    for (const Expression& child : children) {
      const bool minus = child.kind == Expression::Kind::kNegative;
      if (!text.empty()) absl::StrAppend(&text, minus ? " - " : " + ");
      absl::StrAppend(&text, minus && !text.empty()
                                 ? Of(child.children[0], Binding::kProduct)
                                 : Of(child, Binding::kSum));
    }
    return children.size() > 1 && outer > Binding::kSum ? Parenthesised(text)
                                                        : text;
  }

  std::string Quotient(const std::vector<Expression>& children,
                       absl::string_view between, Binding outer) const {
    const std::string text =
        absl::StrCat(Of(children[0], Binding::kProduct), between,
                     Of(children[1], Binding::kFactor));
    return outer == Binding::kFactor ? Parenthesised(text) : text;
  }

  std::string Call(absl::string_view function,
                   absl::Span<const Expression> arguments) const {
    std::vector<std::string> parts;
    for (const Expression& argument : arguments)
      parts.push_back(Of(argument, Binding::kSum));
    return absl::StrCat(function, "(", absl::StrJoin(parts, ", "), ")");
  }

  std::string CeilDivText(const Expression& expression) const {
    const absl::Span<const Expression> children = expression.children;
    const auto split = static_cast<size_t>(expression.split);
    return absl::StrCat("ceil_div(",
                        Joined(children.subspan(0, split), " * ",
                               Binding::kProduct, Binding::kSum),
                        ", ",
                        Joined(children.subspan(split), " * ",
                               Binding::kProduct, Binding::kSum),
                        ")");
  }

  const KernelSpec& spec_;
};

}  // namespace

std::string ConditionText(const KernelSpec& spec, const Condition& condition) {
  return Writer(spec).Whole(condition);
}

std::string ExpressionText(const KernelSpec& spec,
                           const Expression& expression) {
  return Writer(spec).Of(expression, Binding::kSum);
}

absl::string_view OperatorText(Relation::Operator op) {
  switch (op) {
    case Relation::Operator::kEqual:
      return "==";
    case Relation::Operator::kNotEqual:
      return "!=";
    case Relation::Operator::kLess:
      return "<";
    case Relation::Operator::kLessOrEqual:
      return "<=";
    case Relation::Operator::kGreater:
      return ">";
    case Relation::Operator::kGreaterOrEqual:
      return ">=";
    case Relation::Operator::kMultipleOf:
      return "%";
  }
  return "?";
}

}  // namespace wavetune
