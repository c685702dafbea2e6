// Relation: a comparison of two sums of products of dimensions, into which a
// configuration turns a problem predicate (model/kernel/condition.h).
//
//   m * n % 8 == 0  is {left: m * n, op: kMultipleOf, right: 8}
#ifndef WAVETUNE_MODEL_KERNEL_RELATION_H_
#define WAVETUNE_MODEL_KERNEL_RELATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "wavetune/dimension.h"
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
  // coefficient * product of dimensions.
  struct Term {
    int64_t coefficient = 1;
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
           int repeated_dimension = -1);

// Returns whether `left op right`. Nothing is a multiple of zero or less, and
// an unknown operator never holds. Cannot fail.
bool Satisfies(int64_t left, Relation::Operator op, int64_t right);

// Returns the relation as people write it: "m * n % 8 == 0". Cannot fail.
std::string FormatRelation(const Relation& relation,
                           const std::vector<Dimension>& dimensions);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_RELATION_H_
