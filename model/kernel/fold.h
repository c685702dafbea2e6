// Folding: a mapping or relation with a configuration's values put in, so that
// only the problem is left open.
//
//   Mapping folded = FoldMapping(sub_table.mapping, candidate.configuration);
//
// Why: candidates belong to one macro group when their folded mapping and
// predicates are the same; and a decision program evaluates folded trees, where
// most divisors have become constants.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_FOLD_H_
#define WAVETUNE_MODEL_KERNEL_FOLD_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/kernel/mapping.h"
#include "model/kernel/relation.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Returns `expression` with every parameter replaced by its value as a
// constant; evaluates to the same for every problem. Parameter indices must be
// valid. Cannot fail.
Expression FoldExpression(const Expression& expression,
                          const Configuration& configuration);

// Returns `mapping` with every expression folded. The row axis keeps its
// parameter, since it has no place for a constant; two foldings with equal
// `rows` may differ in the tile's value.
Mapping FoldMapping(const Mapping& mapping, const Configuration& configuration);

// Returns `relation` with the parameters multiplied into the coefficients
// (saturating at +-kExpressionLimit); holds for the same problems. Parameter
// indices must be valid. Cannot fail.
Relation FoldRelation(const Relation& relation,
                      const Configuration& configuration);

// Returns `relation` with the dimensions multiplied into the coefficients
// (saturating at +-kExpressionLimit): what is left is a relation over
// parameters. Dimension numbers must be valid for `extents`. Cannot fail.
Relation FoldDimensions(const Relation& relation,
                        absl::Span<const int64_t> extents);

// Returns whether two configurations have the same physical coordinates and the
// same predicates for every problem: what members of a macro group share,
// beside their capacity. Cannot fail.
bool SameMacroGroup(const Mapping& mapping,
                    const std::vector<Relation>& predicates,
                    const Configuration& a, const Configuration& b);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_FOLD_H_
