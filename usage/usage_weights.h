// Usage weights: the representative problems of a profile, from those that the
// kernel's author named and those that clients ask for.
//
//   input.representative_problems = WithUsage(spec, used);
//
// Why both: clients know best what matters now; the author's problems keep the
// table good for what nobody asked for yet.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_USAGE_USAGE_WEIGHTS_H_
#define WAVETUNE_USAGE_USAGE_WEIGHTS_H_

#include <cstddef>
#include <vector>

#include "model/kernel/weighted_problem.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Most problems asked for that join a profile. 64 at 16 leaders each are what
// refinement can measure in a profile of 100 candidates.
inline constexpr size_t kMostUsedProblems = 64;

// Where the author names no problems for a specialisation, fewer from elsewhere
// say too little about the range.
inline constexpr size_t kFewestWithoutNamed = 8;

// A decision whose latency may be off by more than this (Decision::
// relative_bound) is "wide-bound": it may well be another configuration's
// turn. Twice and a half what a fitted answer may have on average (10 %,
// docs/usage.md).
inline constexpr double kWideBound = 0.25;

// Returns whether a profile may measure a problem that somebody asked for. It
// is one of the kernel (CheckProblem) and within ProblemLimits, so that a
// client cannot make a device run out of memory or time.
bool IsMeasurable(const KernelSpec& kernel, const Problem& problem);

// Returns the kMostUsedProblems heaviest of them that are measurable, heaviest
// first, equal problems added up. Weights that are not finite or not above 0
// are left out. Deterministic, whatever the order of `used`. Cannot fail.
std::vector<WeightedProblem> MostUsed(const KernelSpec& spec,
                                      const std::vector<WeightedProblem>& used);

// Returns the representative problems: per specialisation half of the weight
// goes to those of the spec, half to the `used` ones, each in proportion to
// its weight. Of the used ones MostUsed count. A specialisation without
// problems in the spec needs 8 used ones: fewer say too little about the range.
//
// Returns nothing where no used problem counts: ProfileInput then takes the
// spec's. Deterministic, whatever the order of `used`. Cannot fail.
std::vector<WeightedProblem> WithUsage(
    const KernelSpec& spec, const std::vector<WeightedProblem>& used);

}  // namespace wavetune

#endif  // WAVETUNE_USAGE_USAGE_WEIGHTS_H_
