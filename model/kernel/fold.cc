#include "model/kernel/fold.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace wavetune {
namespace {

std::optional<Expression> FoldOptional(
    const std::optional<Expression>& expression,
    const Configuration& configuration) {
  if (!expression) return std::nullopt;
  return FoldExpression(*expression, configuration);
}

}  // namespace

Expression FoldExpression(const Expression& expression,
                          const Configuration& configuration) {
  Expression folded;
  if (expression.kind == Expression::Kind::kParameter) {
    folded.value = configuration[static_cast<int>(expression.value)];
    return folded;
  }
  folded.kind = expression.kind;
  folded.value = expression.value;
  folded.split = expression.split;
  folded.children.reserve(expression.children.size());
  for (const Expression& child : expression.children) {
    folded.children.push_back(FoldExpression(child, configuration));
  }
  return folded;
}

Mapping FoldMapping(const Mapping& mapping,
                    const Configuration& configuration) {
  Mapping folded;
  folded.tiles = FoldExpression(mapping.tiles, configuration);
  for (const OptionalExpression& part : kOptionalExpressions) {
    folded.*part.value = FoldOptional(mapping.*part.value, configuration);
  }
  folded.rows = mapping.rows;
  return folded;
}

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    product = (a < 0) == (b < 0) ? kExpressionLimit : -kExpressionLimit;
  }
  return std::clamp(product, -kExpressionLimit, kExpressionLimit);
}

bool IsConstant(const Expression& expression) {
  return expression.kind != Expression::Kind::kDimension &&
         expression.kind != Expression::Kind::kSumOver &&
         std::all_of(expression.children.begin(), expression.children.end(),
                     IsConstant);
}

Expression PutDimensions(const Expression& expression,
                         absl::Span<const int64_t> values) {
  if (expression.kind == Expression::Kind::kDimension) {
    return Expression::Constant(values[static_cast<size_t>(expression.value)]);
  }
  Expression result = expression;
  for (Expression& child : result.children) {
    child = PutDimensions(child, values);
  }
  return result;
}

bool SameCoordinates(const Mapping& mapping, const Configuration& a,
                     const Configuration& b) {
  return FoldMapping(mapping, a) == FoldMapping(mapping, b) &&
         (!mapping.rows || a[mapping.rows->tile] == b[mapping.rows->tile]);
}

}  // namespace wavetune
