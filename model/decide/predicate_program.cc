#include "model/decide/predicate_program.h"

#include <algorithm>
#include <bit>

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

void PredicateProgram::Add(const Relation& relation, size_t group) {
  const int dimension = PlainMultipleDimension(relation, repeated_dimension_);
  if (dimension >= 0) {
    AddMultiple(dimension, relation.right[0].coefficient, group);
    return;
  }
  auto same = std::find_if(any_.begin(), any_.end(), [&](const Any& other) {
    return other.relation == relation;
  });
  if (same == any_.end()) {
    same = any_.insert(any_.end(), {.relation = relation, .groups = {}});
  }
  same->groups.Set(group);
}

void PredicateProgram::AddMultiple(int dimension, int64_t divisor,
                                   size_t group) {
  if (divisor == 1) return;  // Always holds.
  if (std::has_single_bit(static_cast<uint64_t>(divisor))) {
    auto same = std::find_if(
        powers_.begin(), powers_.end(),
        [&](const Powers& other) { return other.dimension == dimension; });
    if (same == powers_.end()) {
      same = powers_.insert(powers_.end(), Powers());
      same->dimension = dimension;
    }
    const int zeros = std::countr_zero(static_cast<uint64_t>(divisor));
    for (int i = 0; i < zeros; ++i) same->fails[i].Set(group);
    return;
  }
  auto same =
      std::find_if(divided_.begin(), divided_.end(), [&](const Divided& other) {
        return other.dimension == dimension &&
               other.divider.divisor() == divisor;
      });
  if (same == divided_.end()) {
    same = divided_.insert(divided_.end(),
                           {dimension, ConstantDivider(divisor), {}});
  }
  same->groups.Set(group);
}

void PredicateProgram::Run(const ProblemView& problem,
                           uint64_t* excluded) const noexcept {
  const int64_t* const extents = problem.extents.data();
  for (const Powers& of : powers_) {
    // The bit ends the count for 0, a multiple of everything.
    const uint64_t extent = static_cast<uint64_t>(extents[of.dimension]) |
                            uint64_t{1} << Powers::kMost;
    of.fails[std::countr_zero(extent)].AddTo(excluded);
  }
  for (const Divided& of : divided_) {
    if (!of.divider.Divides(extents[of.dimension])) of.groups.AddTo(excluded);
  }
  for (const Any& of : any_) {
    if (!Holds(of.relation, problem, repeated_dimension_)) {
      of.groups.AddTo(excluded);
    }
  }
}

}  // namespace wavetune
