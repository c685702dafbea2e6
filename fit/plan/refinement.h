// Refining: measures the leaders where the choice between them is uncertain.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_REFINEMENT_H_
#define WAVETUNE_FIT_PLAN_REFINEMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/profile_state.h"
#include "fit/profile.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// Pairs that could not be measured: sorted, per candidate of a specialisation.
using FailedProblems = std::vector<std::vector<Problem>>;

// Returns the next pairs to measure, at most `most`, the leaders of one problem
// one after the other. Empty when the expected regret is below the target or
// nothing is left to be measured. Of several devices a step that would be less
// than half full has leaders of the next turn, too (docs/decisions/0065).
//
// Each representative problem has a shortlist of 64 candidates, or as many as
// the table may have. The best twelve of these that compete within 20 % of the
// best are its leaders; fewer of either choose worse (docs/decisions/0004).
// Problems come by weight times expected regret: four leaders of each first,
// then eight, then twelve. So no problem goes without where samples and time
// end early. A problem is measured with at most twice as many candidates as the
// leaders of its turn: 8, 16, 24. Every n-th problem is left for verification
// where there are enough (IsHeldOut, fit/models/profile_state.h). The samples
// enter the fit as further anchors, since factors that correct predictions
// choose worse (docs/decisions/0001).
//
// `wider`: the specialisation with its neighbours (fit/models/neighbours.h).
// Cannot fail. Cost: FitDecisionModels, and a prediction of every candidate at
// every representative problem and its neighbours.
// Source: arXiv 2604.10187 has no such step; docs/architecture.md.
std::vector<MeasureItem> RefinementItems(
    const ProfileInput& input, const SpecialisationState& specialisation,
    const SpecialisationState& wider, const FailedProblems& failed,
    size_t most);

// Returns the samples that are kept for refining where screening's survivors
// are limited: a quarter of the profile's, at least 96, at most what refining
// can use. A small budget may leave less; what the other phases do not take is
// refining's, too.
int64_t RefinementBudget(const ProfileInput& input,
                         const SpecialisationState& specialisation);

// Returns the most samples that refining can use: 24 at each representative
// problem, none where nobody named any.
int64_t MostRefinementSamples(const SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_REFINEMENT_H_
