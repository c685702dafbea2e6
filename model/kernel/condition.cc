#include "model/kernel/condition.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "model/kernel/expression_faults.h"
#include "model/kernel/fold.h"

namespace wavetune {
namespace {

using Operator = Relation::Operator;

bool IsModulus(int64_t value) { return value >= 1; }

bool ComparisonHolds(const Condition& comparison, const ProblemView& problem,
                     const Configuration& configuration,
                     int repeated_dimension) {
  const auto holds_at = [&](int64_t element) {
    const std::optional<int64_t> left =
        EvaluateSigned(comparison.sides[0], problem, configuration,
                       repeated_dimension, element);
    const std::optional<int64_t> right =
        EvaluateSigned(comparison.sides[1], problem, configuration,
                       repeated_dimension, element);
    if (!left.has_value() || !right.has_value() ||
        (comparison.op == Operator::kMultipleOf && !IsModulus(*right))) {
      return comparison.without_value;
    }
    return Satisfies(*left, comparison.op, *right);
  };
  const bool of_elements =
      repeated_dimension >= 0 &&
      std::any_of(comparison.sides.begin(), comparison.sides.end(),
                  [repeated_dimension](const Expression& side) {
                    return Mentions(side, repeated_dimension);
                  });
  if (!of_elements) return holds_at(0);
  return std::all_of(problem.repeated.begin(), problem.repeated.end(),
                     holds_at);
}

Operator Opposite(Operator op) {
  switch (op) {
    case Operator::kEqual:
      return Operator::kNotEqual;
    case Operator::kNotEqual:
      return Operator::kEqual;
    case Operator::kLess:
      return Operator::kGreaterOrEqual;
    case Operator::kLessOrEqual:
      return Operator::kGreater;
    case Operator::kGreater:
      return Operator::kLessOrEqual;
    case Operator::kGreaterOrEqual:
      return Operator::kLess;
    case Operator::kMultipleOf:
      break;  // Has none: OppositeComparison writes a remainder.
  }
  return op;
}

Condition OppositeComparison(const Condition& comparison) {
  if (comparison.op == Operator::kMultipleOf) {
    return {Expression::Of(Expression::Kind::kRemainder, comparison.sides),
            Operator::kNotEqual, Expression::Constant(0)};
  }
  return {comparison.sides[0], Opposite(comparison.op), comparison.sides[1]};
}

void SetWithoutValue(Condition& condition, bool value) {
  condition.without_value = value;
  for (Condition& child : condition.children) SetWithoutValue(child, value);
}

void Visit(const Condition& condition,
           void (*collect)(const Expression&, std::vector<int32_t>&),
           std::vector<int32_t>& found) {
  for (const Expression& side : condition.sides) collect(side, found);
  for (const Condition& child : condition.children) {
    Visit(child, collect, found);
  }
}

bool IsQuotient(const Expression& expression) {
  return expression.kind == Expression::Kind::kExactDiv ||
         expression.kind == Expression::Kind::kFloorDiv ||
         expression.kind == Expression::Kind::kRemainder;
}

// Whether an expression has no value, whatever the dimensions are. False where
// that is not plain.
bool NeverHasValue(const Expression& expression,
                   const Configuration& configuration) {
  if (IsConstant(expression)) {
    return !EvaluateSigned(expression, ProblemView(), configuration)
                .has_value();
  }
  // Without elements it is 0.
  if (expression.kind == Expression::Kind::kSumOver) return false;
  const std::vector<Expression>& children = expression.children;
  if (IsQuotient(expression) && IsConstant(children[1]) &&
      !IsModulus(EvaluateSigned(children[1], ProblemView(), configuration)
                     .value_or(0))) {
    return true;
  }
  return std::any_of(children.begin(), children.end(),
                     [&configuration](const Expression& child) {
                       return NeverHasValue(child, configuration);
                     });
}

bool NeverHasValue(const Condition& comparison,
                   const Configuration& configuration) {
  if (comparison.op == Operator::kMultipleOf) {
    return NeverHasValue(
        Expression::Of(Expression::Kind::kRemainder, comparison.sides),
        configuration);
  }
  return NeverHasValue(comparison.sides[0], configuration) ||
         NeverHasValue(comparison.sides[1], configuration);
}

// A sum of products of dimensions: coefficients by sorted product.
using SumOfProducts = std::map<std::vector<int32_t>, int64_t>;

int64_t SaturatedSum(int64_t a, int64_t b) {
  return std::clamp(a + b, -kExpressionLimit, kExpressionLimit);
}

SumOfProducts Times(const SumOfProducts& a, const SumOfProducts& b) {
  SumOfProducts product;
  for (const auto& [of_a, coefficient_a] : a) {
    for (const auto& [of_b, coefficient_b] : b) {
      std::vector<int32_t> dimensions = of_a;
      dimensions.insert(dimensions.end(), of_b.begin(), of_b.end());
      std::sort(dimensions.begin(), dimensions.end());
      int64_t& coefficient = product[dimensions];
      coefficient = SaturatedSum(
          coefficient, SaturatingProduct(coefficient_a, coefficient_b));
    }
  }
  return product;
}

// Folds expressions to polynomials of dimensions under a configuration.
class Folder {
 public:
  explicit Folder(const Configuration& configuration)
      : configuration_(configuration) {}

  // Returns nothing where the expression is no polynomial.
  std::optional<SumOfProducts> Fold(const Expression& expression) const {
    if (IsConstant(expression)) return FoldNumber(expression);
    switch (expression.kind) {
      case Expression::Kind::kDimension:
        return SumOfProducts{{{static_cast<int32_t>(expression.value)}, 1}};
      case Expression::Kind::kNegative:
        return Combine({Expression::Constant(-1), expression.children[0]},
                       Times, {{{}, 1}});
      case Expression::Kind::kProduct:
        return Combine(expression.children, Times, {{{}, 1}});
      case Expression::Kind::kSum:
        return Combine(expression.children, Plus, {});
      case Expression::Kind::kExactDiv:
        return Divide(expression);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<SumOfProducts> FoldNumber(const Expression& expression) const {
    const std::optional<int64_t> value =
        EvaluateSigned(expression, ProblemView(), configuration_);
    if (!value.has_value()) return std::nullopt;
    if (*value == 0) return SumOfProducts();
    return SumOfProducts{{{}, *value}};
  }

  static SumOfProducts Plus(const SumOfProducts& a, const SumOfProducts& b) {
    SumOfProducts sum = a;
    for (const auto& [dimensions, coefficient] : b) {
      sum[dimensions] = SaturatedSum(sum[dimensions], coefficient);
    }
    return sum;
  }

  std::optional<SumOfProducts> Combine(
      const std::vector<Expression>& children,
      SumOfProducts (*join)(const SumOfProducts&, const SumOfProducts&),
      SumOfProducts result) const {
    for (const Expression& child : children) {
      const std::optional<SumOfProducts> part = Fold(child);
      if (!part.has_value()) return std::nullopt;
      result = join(result, *part);
    }
    std::erase_if(result, [](const auto& term) { return term.second == 0; });
    return result;
  }

  // By a number that divides every term.
  std::optional<SumOfProducts> Divide(const Expression& quotient) const {
    std::optional<SumOfProducts> result = Fold(quotient.children[0]);
    const std::optional<int64_t> divisor =
        IsConstant(quotient.children[1])
            ? EvaluateSigned(quotient.children[1], ProblemView(),
                             configuration_)
            : std::nullopt;
    if (!result.has_value() || divisor.value_or(0) < 1) return std::nullopt;
    for (auto& [dimensions, coefficient] : *result) {
      if (coefficient % *divisor != 0) return std::nullopt;
      coefficient /= *divisor;
    }
    return result;
  }

  const Configuration& configuration_;
};

std::vector<Relation::Term> TermsOf(const SumOfProducts& polynomial) {
  std::vector<Relation::Term> terms;
  for (const auto& [dimensions, coefficient] : polynomial) {
    terms.push_back({.coefficient = coefficient, .dimensions = dimensions});
  }
  if (terms.empty()) {
    terms.push_back({.coefficient = 0});
  }
  return terms;
}

using Folded = std::optional<std::vector<Relation>>;

Folded FoldComparison(const Condition& comparison,
                      const Configuration& configuration) {
  std::vector<int32_t> dimensions;
  CollectDimensions(comparison, dimensions);
  if (dimensions.empty()) {
    if (Holds(comparison, ProblemView(), configuration)) {
      return std::vector<Relation>();
    }
    return std::vector<Relation>{Never()};
  }
  if (NeverHasValue(comparison, configuration)) {
    return comparison.without_value ? std::vector<Relation>()
                                    : std::vector<Relation>{Never()};
  }
  // A relation does not hold where what it divides by is 0.
  if (comparison.without_value && comparison.op == Operator::kMultipleOf &&
      !IsConstant(comparison.sides[1])) {
    return std::nullopt;
  }
  const Folder folder(configuration);
  const std::optional<SumOfProducts> left = folder.Fold(comparison.sides[0]);
  const std::optional<SumOfProducts> right = folder.Fold(comparison.sides[1]);
  if (!left.has_value() || !right.has_value()) return std::nullopt;
  return std::vector<Relation>{
      {.left = TermsOf(*left), .op = comparison.op, .right = TermsOf(*right)}};
}

// One child at most may be neither true nor false.
Folded FoldAny(const std::vector<Condition>& children,
               const Configuration& configuration) {
  std::vector<Relation> open = {Never()};
  bool several = false;
  for (const Condition& child : children) {
    Folded folded = FoldCondition(child, configuration);
    if (!folded.has_value()) {
      several = true;
    } else if (folded->empty()) {
      return folded;
    } else if (*folded != std::vector<Relation>{Never()}) {
      several |= open != std::vector<Relation>{Never()};
      open = *std::move(folded);
    }
  }
  if (several) return std::nullopt;
  return open;
}

Folded FoldAll(const std::vector<Condition>& children,
               const Configuration& configuration) {
  std::vector<Relation> all;
  bool foldable = true;
  for (const Condition& child : children) {
    Folded folded = FoldCondition(child, configuration);
    if (!folded.has_value()) {
      foldable = false;
      continue;
    }
    // False whatever the others are.
    if (*folded == std::vector<Relation>{Never()}) return folded;
    all.insert(all.end(), folded->begin(), folded->end());
  }
  if (!foldable) return std::nullopt;
  return all;
}

}  // namespace

Condition::Condition(Expression left, Relation::Operator comparison,
                     Expression right)
    : kind(Kind::kComparison), op(comparison) {
  if (op == Operator::kEqual && left.kind == Expression::Kind::kRemainder &&
      right == Expression::Constant(0)) {
    op = Operator::kMultipleOf;
    sides = std::move(left.children);
    return;
  }
  sides.push_back(std::move(left));
  sides.push_back(std::move(right));
}

Condition Condition::All(std::vector<Condition> children) {
  Condition result;
  result.kind = Kind::kAll;
  result.children = std::move(children);
  return result;
}

Condition Condition::Any(std::vector<Condition> children) {
  Condition result;
  result.kind = Kind::kAny;
  result.children = std::move(children);
  return result;
}

Condition Negated(const Condition& condition) {
  Condition result = Complement(condition);
  SetWithoutValue(result, false);
  return result;
}

Condition Complement(const Condition& condition) {
  if (condition.kind == Condition::Kind::kComparison) {
    Condition result = OppositeComparison(condition);
    result.without_value = !condition.without_value;
    return result;
  }
  std::vector<Condition> children;
  for (const Condition& child : condition.children) {
    children.push_back(Complement(child));
  }
  return condition.kind == Condition::Kind::kAll
             ? Condition::Any(std::move(children))
             : Condition::All(std::move(children));
}

Condition When(Condition condition, const Condition& guard) {
  return Condition::Any({Complement(guard), std::move(condition)});
}

bool Holds(const Condition& condition, const ProblemView& problem,
           const Configuration& configuration, int repeated_dimension) {
  const auto holds = [&](const Condition& child) {
    return Holds(child, problem, configuration, repeated_dimension);
  };
  switch (condition.kind) {
    case Condition::Kind::kComparison:
      return ComparisonHolds(condition, problem, configuration,
                             repeated_dimension);
    case Condition::Kind::kAll:
      return std::all_of(condition.children.begin(), condition.children.end(),
                         holds);
    case Condition::Kind::kAny:
      return std::any_of(condition.children.begin(), condition.children.end(),
                         holds);
  }
  return false;
}

void CollectDimensions(const Condition& condition,
                       std::vector<int32_t>& dimensions) {
  Visit(condition, &CollectDimensions, dimensions);
}

void CollectParameters(const Condition& condition,
                       std::vector<int32_t>& parameters) {
  Visit(condition, &CollectParameters, parameters);
}

Folded FoldCondition(const Condition& condition,
                     const Configuration& configuration) {
  switch (condition.kind) {
    case Condition::Kind::kComparison:
      return FoldComparison(condition, configuration);
    case Condition::Kind::kAll:
      return FoldAll(condition.children, configuration);
    case Condition::Kind::kAny:
      return FoldAny(condition.children, configuration);
  }
  return std::nullopt;
}

std::vector<Relation> FoldConditions(absl::Span<const Condition> conditions,
                                     const Configuration& configuration) {
  std::vector<Relation> all;
  for (const Condition& condition : conditions) {
    const std::vector<Relation> folded =
        FoldCondition(condition, configuration)
            .value_or(std::vector<Relation>{Never()});
    for (const Relation& relation : folded) {
      if (std::find(all.begin(), all.end(), relation) == all.end()) {
        all.push_back(relation);
      }
    }
  }
  return all;
}

Relation Never() {
  return {.left = {{.coefficient = 1}},
          .op = Operator::kLessOrEqual,
          .right = {{.coefficient = 0}}};
}

Condition WithDimensions(const Condition& condition,
                         absl::Span<const int64_t> values) {
  Condition result = condition;
  for (Expression& side : result.sides) side = PutDimensions(side, values);
  for (Condition& child : result.children) {
    child = WithDimensions(child, values);
  }
  return result;
}

}  // namespace wavetune
