// Condition: what must hold of a configuration, of a problem under it, or of a
// device: comparisons of expressions, joined by "and" and "or".
//
//   // RESIDENT * (3072 + 8192 * CONSUMERS) <= 233472 when HOPPER == 1
//   condition = When(fits, hopper_is_1);
//   if (Holds(condition, ProblemView(), configuration)) …
//
// In a condition over a problem the parameters are numbers: each configuration
// has its own. FoldCondition puts them in. The rest are relations over
// dimensions (model/kernel/relation.h), which planning can meet and decisions
// evaluate in nanoseconds.
//
// Thread safety: plain values and pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_CONDITION_H_
#define WAVETUNE_MODEL_KERNEL_CONDITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "model/kernel/mapping.h"
#include "model/kernel/relation.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// A tree without negations: Negated moves them into the comparisons.
struct Condition {
  enum class Kind : uint8_t {
    kComparison,  // sides[0] op sides[1]
    kAll,         // each of children; true where there are none
    kAny,         // one of children; false where there are none
  };
  Kind kind = Kind::kAll;
  Relation::Operator op = Relation::Operator::kEqual;
  std::vector<Expression> sides;
  std::vector<Condition> children;
  // Whether a comparison whose sides have no value (EvaluateSigned), or of
  // kMultipleOf zero or less, holds.
  bool without_value = false;

  Condition() = default;
  // `a % b == 0` becomes kMultipleOf.
  Condition(Expression left, Relation::Operator comparison, Expression right);
  static Condition All(std::vector<Condition> children);
  static Condition Any(std::vector<Condition> children);

  friend bool operator==(const Condition&, const Condition&) = default;
};

// Returns the condition that holds where `condition` does not, but for
// comparisons whose sides have no value: these never hold. Over the repeated
// dimension each comparison, negated or not, is asked of every element.
Condition Negated(const Condition& condition);

// The same, and those whose sides have no value hold where they do not in
// `condition`. Of a complement it is the condition again.
Condition Complement(const Condition& condition);

// Returns the condition that holds where `condition` does or `guard` does not,
// also where that has no value: a guard that says nothing asks for nothing.
Condition When(Condition condition, const Condition& guard);

// Returns whether the condition holds. A comparison over the repeated dimension
// must hold for every element, one whose sides have no value does not hold
// unless it says so. Values saturate at kExpressionLimit. In a
// condition over a device kDimension is a DeviceFact, and `problem.extents` are
// their values. Cannot fail. `repeated_dimension` is the index of the kernel's
// repeated dimension, or -1.
bool Holds(const Condition& condition, const ProblemView& problem,
           const Configuration& configuration, int repeated_dimension = -1);

// Append the dimensions, or parameters, that the condition mentions, each once.
void CollectDimensions(const Condition& condition,
                       std::vector<int32_t>& dimensions);
void CollectParameters(const Condition& condition,
                       std::vector<int32_t>& parameters);

// Returns the relations over dimensions that hold, all of them, exactly where
// the condition does under `configuration`. Like terms are added up; there are
// none where it always holds, and only Never() where it never does. Returns
// nothing where the condition is no such list: it has an "or" between
// dimensions, or a quotient, remainder, minimum or maximum of dimensions other
// than `… % … == 0`. Whether it is one can depend on the configuration.
std::optional<std::vector<Relation>> FoldCondition(
    const Condition& condition, const Configuration& configuration);

// Returns FoldCondition of all, one after the other, duplicates and those that
// always hold left out. One that cannot be folded never holds: a valid kernel
// (kernel_validation.h) has none.
std::vector<Relation> FoldConditions(absl::Span<const Condition> conditions,
                                     const Configuration& configuration);

// The relation that no problem meets: 1 <= 0.
Relation Never();

// Returns `condition` with its dimensions replaced by these values: the result
// is over parameters. Dimension numbers must be valid for `values`.
Condition WithDimensions(const Condition& condition,
                         absl::Span<const int64_t> values);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_CONDITION_H_
