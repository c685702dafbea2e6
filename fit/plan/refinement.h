// Refinement: measure the leaders where the choice between them is uncertain,
// and who would win nearby without having been looked at.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_REFINEMENT_H_
#define WAVETUNE_FIT_PLAN_REFINEMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/profile_state.h"
#include "fit/profile.h"

namespace wavetune {

// Pairs that could not be measured: sorted, per candidate of a specialisation.
using FailedProblems = std::vector<std::vector<Problem>>;

// Samples that refinement may still take; none where not above 0. Challenges
// that were measured count against the leaders' share, too.
struct RefinementRoom {
  int64_t leaders = 0;
  int64_t challenges = 0;
};

// Returns the next pairs to measure, at most `most`, the leaders of one problem
// in a row; where none is left, or their room is spent, challenges of an
// overlap (fit/plan/challenges.h; not tried as a sum). Empty when the
// expected regret is below the target, nothing is left to be measured, or there
// is no room.
//
// Of a shortlist of 64 candidates, or as many as the table may have, per
// representative problem, the best twelve that compete within 20 % of the best
// are leaders: with 24 and four, choices for gemm_bf16 on the H200 were 93.4
// instead of 96.4 % of the best, with 64 and eight 97.6 and 97.9 % (portfolios
// of 32 and 48) instead of 97.9 and 98.1 % (2026-11, by plain predictions).
// Problems come by weight times expected regret. A problem is measured with at
// most 24 candidates. Every n-th problem is left for verification where there
// are enough (IsHeldOut, fit/models/profile_state.h).
// The samples enter the fit as further anchors: on the H200 Triton GEMM trace
// that gains 0.3 % where correcting factors lost 0.8 % (2026-11).
//
// Cannot fail. Cost: FitDecisionModels, and a prediction of every candidate at
// every representative problem and its neighbours.
// Source: arXiv 2604.10187 has no such step; docs/architecture.md.
std::vector<MeasureItem> RefinementItems(
    const ProfileInput& input, const SpecialisationState& specialisation,
    const FailedProblems& failed, const RefinementRoom& room, size_t most);

// Returns an upper estimate of the samples that refinement will take for
// leaders.
int64_t RefinementBudget(const ProfileInput& input,
                         const SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_REFINEMENT_H_
