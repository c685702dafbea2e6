// What is wrong with an expression, and what it mentions.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_EXPRESSION_FAULTS_H_
#define WAVETUNE_MODEL_KERNEL_EXPRESSION_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/kernel/mapping.h"

namespace wavetune {

struct KernelSpec;

// Appends one line for everything malformed in `expression`, each starting with
// `field`: indices out of range, constants below 1, missing operands, a
// repeated dimension outside of sum_over, sums in sums. An expression without
// faults can be evaluated for every problem in range. Cannot fail.
void FindExpressionFaults(const KernelSpec& spec, const Expression& expression,
                          absl::string_view field,
                          std::vector<std::string>& faults);

// Append the dimensions or parameters that an expression mentions, in order of
// appearance, each once. Cannot fail.
void CollectDimensions(const Expression& expression,
                       std::vector<int32_t>& dimensions);
void CollectParameters(const Expression& expression,
                       std::vector<int32_t>& parameters);

// Returns whether an expression mentions a dimension. Cannot fail. Cost: O(its
// size); no allocation.
bool Mentions(const Expression& expression, int32_t dimension);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_EXPRESSION_FAULTS_H_
