// Whether a relation holds whatever the problem, or wherever another does.
//
//   // n % 2 == 0 does not, 2 * n % 2 == 0 and m * n >= n do.
//   AlwaysHolds(relation, spec.dimensions);
//
// Decided from the relation's form, never by trying problems, and so for
// certain only. Sides are subtracted and like terms added up first, so that a
// dimension may stand in several of them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_RELATION_PROOF_H_
#define WAVETUNE_MODEL_KERNEL_RELATION_PROOF_H_

#include <vector>

#include "model/kernel/relation.h"
#include "wavetune/dimension.h"

namespace wavetune {

// Returns whether `folded` (model/kernel/condition.h: of a condition under a
// configuration) is proven to hold for every problem in the dimensions' ranges,
// as Holds says it.
// False also where a proof is beyond this:
//  - comparisons are proven by the least and the largest value of the sides'
//    difference. These are exact where no term has a dimension twice; else each
//    term counts for itself.
//  - MULTIPLE_OF is proven where the right side is positive and either divides
//    every term on the left, or is one term that does (n * k of n).
// Cannot fail. Cost: 2^dimensions sums at most.
bool AlwaysHolds(const Relation& folded,
                 const std::vector<Dimension>& dimensions);

// Returns whether `wanted` holds wherever `known` does. Both are the same, or
// compare the same sum in the same way, and `known` has the stricter number
// (n % 16 == 0 against n % 8 == 0). False where that is not plain. Cannot
// fail.
bool Implies(const Relation& known, const Relation& wanted);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_RELATION_PROOF_H_
