// PredicateProgram: the problem predicates of all rows of a table, each
// distinct one evaluated once per problem.
//
//   PredicateProgram program(/*repeated_dimension=*/-1);
//   int id = program.Add(FoldRelation(relation, configuration));
//   uint8_t holds[PredicateProgram::kMaxPredicates];
//   program.Run(problem, holds);  // holds[id] == Holds(relation, problem, …)
//
// Why: most predicates do not mention a parameter, so that all rows share them,
// and most have the form `k % 8 == 0`, which needs no walk over sums of
// products.
//
// Thread safety: immutable after the last Add.
#ifndef WAVETUNE_MODEL_PREDICATE_PROGRAM_H_
#define WAVETUNE_MODEL_PREDICATE_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "model/constant_divider.h"
#include "model/problem.h"
#include "model/relation.h"
#include "model/table_check.h"

namespace wavetune {

class PredicateProgram {
 public:
  static constexpr int kMaxPredicates = kMaxDecisionNodes;

  explicit PredicateProgram(int repeated_dimension)
      : repeated_dimension_(repeated_dimension) {}

  // Adds a folded relation (model/fold.h) and returns its number; an equal one
  // keeps its number.
  int Add(const Relation& folded);

  // Evaluates everything at a legal problem; no allocation, lock or system
  // call.
  void Run(const ProblemView& problem, uint8_t* holds) const noexcept;

 private:
  struct Predicate {
    Relation relation;
    // Set for `extents[dimension] % divider == 0` with one plain dimension.
    int multiple_dimension = -1;
    ConstantDivider divider;
  };

  int repeated_dimension_;
  std::vector<Predicate> predicates_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_PREDICATE_PROGRAM_H_
