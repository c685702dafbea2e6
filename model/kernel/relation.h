// Relation: a comparison of two sums of products over parameters and
// dimensions, as constraints and problem predicates use it.
//
//   BLOCK_M % (TILE_M * 2) == 0
//   is {left: BLOCK_M, op: kMultipleOf, right: 2 * TILE_M}
#ifndef WAVETUNE_MODEL_KERNEL_RELATION_H_
#define WAVETUNE_MODEL_KERNEL_RELATION_H_

#include <cstdint>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// Sum of products on both sides of a comparison.
struct Relation {
  enum class Operator : uint8_t {
    kEqual = 1,
    kNotEqual = 2,
    kLess = 3,
    kLessOrEqual = 4,
    kGreater = 5,
    kGreaterOrEqual = 6,
    kMultipleOf = 7,
  };
  // coefficient * product of parameters * product of dimensions.
  struct Term {
    int64_t coefficient = 1;
    std::vector<int32_t> parameters;
    std::vector<int32_t> dimensions;

    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> left;
  Operator op = Operator::kEqual;
  std::vector<Term> right;

  friend bool operator==(const Relation&, const Relation&) = default;
};

// Returns whether the relation holds. A term over a repeated dimension must
// hold for every element. kMultipleOf zero or less never holds. Sums saturate
// at kExpressionLimit. Cannot fail. `repeated_dimension` is the index of the
// kernel's repeated dimension, or -1.
bool Holds(const Relation& relation, const ProblemView& problem,
           const Configuration& configuration, int repeated_dimension = -1);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_RELATION_H_
