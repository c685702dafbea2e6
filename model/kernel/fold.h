// Folding: an expression or mapping with a configuration's values put in, so
// that only the problem is left open. FoldCondition does it for conditions.
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

#include "absl/types/span.h"
#include "model/kernel/mapping.h"
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

// Returns whether an expression names no dimension: its value is the
// configuration's.
bool IsConstant(const Expression& expression);

// Returns `expression` with every dimension replaced by its value in `values`;
// dimension numbers must be valid for them. Cannot fail.
Expression PutDimensions(const Expression& expression,
                         absl::Span<const int64_t> values);

// Returns a * b, saturated at +-kExpressionLimit.
int64_t SaturatingProduct(int64_t a, int64_t b);

// Returns whether two configurations have the same physical coordinates for
// every problem: what members of a macro group share, beside their predicates
// and their tiles per wave. Cannot fail.
bool SameCoordinates(const Mapping& mapping, const Configuration& a,
                     const Configuration& b);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_FOLD_H_
