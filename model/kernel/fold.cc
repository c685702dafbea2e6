#include "model/kernel/fold.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace wavetune {
namespace {

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    product = (a < 0) == (b < 0) ? kExpressionLimit : -kExpressionLimit;
  }
  return std::clamp(product, -kExpressionLimit, kExpressionLimit);
}

std::optional<Expression> FoldOptional(
    const std::optional<Expression>& expression,
    const Configuration& configuration) {
  if (!expression) return std::nullopt;
  return FoldExpression(*expression, configuration);
}

std::vector<Relation::Term> FoldTerms(const std::vector<Relation::Term>& terms,
                                      const Configuration& configuration) {
  std::vector<Relation::Term> folded;
  folded.reserve(terms.size());
  for (const Relation::Term& term : terms) {
    int64_t coefficient = term.coefficient;
    for (const int32_t parameter : term.parameters) {
      coefficient = SaturatingProduct(coefficient, configuration[parameter]);
    }
    folded.push_back({.coefficient = coefficient,
                      .parameters = {},
                      .dimensions = term.dimensions});
  }
  return folded;
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
  folded.iterations_per_tile =
      FoldOptional(mapping.iterations_per_tile, configuration);
  folded.total_iterations =
      FoldOptional(mapping.total_iterations, configuration);
  folded.longest_loop = FoldOptional(mapping.longest_loop, configuration);
  folded.rows = mapping.rows;
  return folded;
}

Relation FoldRelation(const Relation& relation,
                      const Configuration& configuration) {
  return {.left = FoldTerms(relation.left, configuration),
          .op = relation.op,
          .right = FoldTerms(relation.right, configuration)};
}

Relation FoldDimensions(const Relation& relation,
                        absl::Span<const int64_t> extents) {
  Relation folded = relation;
  for (auto* side : {&folded.left, &folded.right}) {
    for (Relation::Term& term : *side) {
      for (const int32_t dimension : term.dimensions) {
        term.coefficient = SaturatingProduct(
            term.coefficient, extents[static_cast<size_t>(dimension)]);
      }
      term.dimensions.clear();
    }
  }
  return folded;
}

bool SameMacroGroup(const Mapping& mapping,
                    const std::vector<Relation>& predicates,
                    const Configuration& a, const Configuration& b) {
  if (FoldMapping(mapping, a) != FoldMapping(mapping, b)) return false;
  if (mapping.rows && a[mapping.rows->tile] != b[mapping.rows->tile]) {
    return false;
  }
  return std::all_of(
      predicates.begin(), predicates.end(), [&](const Relation& relation) {
        return FoldRelation(relation, a) == FoldRelation(relation, b);
      });
}

}  // namespace wavetune
