// Decision models: the models that decide, fitted to all samples.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_DECISION_MODELS_H_
#define WAVETUNE_FIT_MODELS_DECISION_MODELS_H_

#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"
#include "fit/profile.h"

namespace wavetune {

// Returns one model per candidate, as a table would have them. They are fitted
// by how important each measurement is (fit/models/importance.h), with their
// uncertainty (fit/models/uncertainty.h), without rows where a candidate has
// too few observations. Sets the importance of the observations, which must be
// as MakeProfileState left them. Cannot fail. Cost: three fits of every
// candidate and what SetImportance predicts; as a sum one fit.
//
// What refinement measures next is planned with them, too: without importance
// and margins it looked after leaders that the table would not choose.
std::vector<CandidateModel> FitDecisionModels(
    const ProfileInput& input, SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_DECISION_MODELS_H_
