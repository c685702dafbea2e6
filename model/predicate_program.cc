#include "model/predicate_program.h"

#include <cstddef>

#include "model/configuration.h"

namespace wavetune {
namespace {

// Returns the dimension of a relation of the form `dimension % constant == 0`
// that is not over the repeated dimension, or -1.
int PlainMultipleDimension(const Relation& relation, int repeated_dimension) {
  if (relation.op != Relation::Operator::kMultipleOf ||
      relation.left.size() != 1 || relation.right.size() != 1) {
    return -1;
  }
  const Relation::Term& left = relation.left[0];
  const Relation::Term& right = relation.right[0];
  if (left.coefficient != 1 || left.dimensions.size() != 1 ||
      !right.dimensions.empty() || right.coefficient < 1 ||
      left.dimensions[0] == repeated_dimension) {
    return -1;
  }
  return left.dimensions[0];
}

}  // namespace

int PredicateProgram::Add(const Relation& folded) {
  for (size_t i = 0; i < predicates_.size(); ++i) {
    if (predicates_[i].relation == folded) return static_cast<int>(i);
  }
  Predicate predicate{.relation = folded};
  predicate.multiple_dimension =
      PlainMultipleDimension(folded, repeated_dimension_);
  if (predicate.multiple_dimension >= 0) {
    predicate.divider = ConstantDivider(folded.right[0].coefficient);
  }
  predicates_.push_back(predicate);
  return static_cast<int>(predicates_.size()) - 1;
}

void PredicateProgram::Run(const ProblemView& problem,
                           uint8_t* holds) const noexcept {
  for (size_t i = 0; i < predicates_.size(); ++i) {
    const Predicate& predicate = predicates_[i];
    const bool result =
        predicate.multiple_dimension >= 0
            ? predicate.divider.Divides(problem.extents[static_cast<size_t>(
                  predicate.multiple_dimension)])
            : Holds(predicate.relation, problem, Configuration(),
                    repeated_dimension_);
    holds[i] = result ? 1 : 0;
  }
}

}  // namespace wavetune
