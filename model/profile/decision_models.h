// Decision models: the models that decide, fitted to all samples.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_PROFILE_DECISION_MODELS_H_
#define WAVETUNE_MODEL_PROFILE_DECISION_MODELS_H_

#include <vector>

#include "model/fit/candidate_model.h"
#include "model/profile/profile.h"
#include "model/profile/profile_state.h"

namespace wavetune {

// Returns one model per candidate, as a table would have them: fitted by how
// relevant each measurement is (model/profile/relevance.h), with rank margins
// (model/profile/rank_margins.h); without rows where a candidate has too few
// observations. Sets the relevance of the observations, which must be as
// MakeProfileState left them. Cannot fail. Cost: three fits of every candidate
// and what SetRelevance predicts; as a sum one fit.
//
// What refinement measures next is planned with them, too: without relevance
// and margins it looked after leaders that the table would not choose.
std::vector<CandidateModel> FitDecisionModels(
    const ProfileInput& input, SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_PROFILE_DECISION_MODELS_H_
