// Conditions as authors write them: for messages about one of many.
//
//   ConditionText(spec, spec.constraints[0])  // "BLOCK_M * VECTORS <= 24"
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_CONDITION_TEXT_H_
#define WAVETUNE_MODEL_KERNEL_CONDITION_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "model/kernel/condition.h"
#include "model/kernel/mapping.h"

namespace wavetune {

struct KernelSpec;

// Returns the condition with the kernel's names, in the form of
// docs/manifest.md; "?" for an index that the kernel has not. What it was
// read from may have been written otherwise: `not A == B` is `A != B`. Cannot
// fail.
std::string ConditionText(const KernelSpec& spec, const Condition& condition);

// The same for an expression.
std::string ExpressionText(const KernelSpec& spec,
                           const Expression& expression);

// Returns "<=" and the like: "%" for kMultipleOf. Cannot fail.
absl::string_view OperatorText(Relation::Operator op);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_CONDITION_TEXT_H_
