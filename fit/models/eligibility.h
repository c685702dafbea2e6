// Which candidates have enough samples to be chosen.
#ifndef WAVETUNE_FIT_MODELS_ELIGIBILITY_H_
#define WAVETUNE_FIT_MODELS_ELIGIBILITY_H_

#include <vector>

#include "fit/models/profile_state.h"

namespace wavetune {

// Fewest observations that a model is fitted to.
inline constexpr int kFewestObservations = 4;

// Returns, per candidate, whether it may enter the portfolio: it has a model
// and at least half as many samples as the candidate with the most has anchors.
// Those that screening dropped have fewer; their models are crude and would be
// chosen by luck. Where no eligible candidate is legal for every problem, the
// best sampled one that is becomes eligible too. Cannot fail.
std::vector<bool> EligibleCandidates(const SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ELIGIBILITY_H_
