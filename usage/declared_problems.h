// Declared problems: those of workloads, as representative problems beside the
// author's.
//
//   const KernelSpec own = WithDeclared(kernel, declared);
//   input.spec = &own;
//
// Why a spec of its own: the planner takes its ranges, and the values that it
// holds, from the spec's representative problems.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_USAGE_DECLARED_PROBLEMS_H_
#define WAVETUNE_USAGE_DECLARED_PROBLEMS_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/weighted_problem.h"

namespace wavetune {

// Most declared problems that join a profile: some ten models' layers. Planning
// looks at each with each candidate.
inline constexpr size_t kMostDeclaredProblems = 512;

// Returns the problems of several layers together, each list's weights adding
// up to what they did. Where that is more than kMostDeclaredProblems, each
// layer keeps every second of its problems, every third, and so on. The last
// layers lose all where even one each is too many. A problem of an empty
// specialisation becomes one of each of the kernel's, sharing its weight.
std::vector<WeightedProblem> DeclaredProblems(
    const KernelSpec& spec,
    const std::vector<std::vector<WeightedProblem>>& layers);

// Returns the spec with the declared problems that are measurable
// (usage_weights.h) behind its own representative ones, and as its
// specialisations have it, too. Of each specialisation they weigh together as
// much as the author's: these may be a few grids or a hundred single problems.
// A specialisation for which the author names none needs kFewestWithoutNamed of
// them. Of what engines' files have they keep that for `device` (its label).
// Cannot fail.
KernelSpec WithDeclared(const KernelSpec& spec,
                        const std::vector<WeightedProblem>& declared,
                        absl::string_view device);

}  // namespace wavetune

#endif  // WAVETUNE_USAGE_DECLARED_PROBLEMS_H_
