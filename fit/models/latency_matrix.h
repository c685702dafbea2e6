// What all candidates compete with at all representative problems.
#ifndef WAVETUNE_FIT_MODELS_LATENCY_MATRIX_H_
#define WAVETUNE_FIT_MODELS_LATENCY_MATRIX_H_

#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// [candidate][representative problem] in microseconds; infinity where the
// candidate is not legal or has no model.
using LatencyMatrix = std::vector<std::vector<double>>;

// Fits every candidate of a specialisation with at least `fewest` observations;
// the others get a model without rows. Cannot fail.
std::vector<CandidateModel> FitCandidates(
    const SpecialisationState& specialisation, int64_t multiprocessors,
    int fewest);

// Returns the predictions of the models; with rank margins on top where
// SetUncertainty (fit/models/uncertainty.h) has given them any. Cannot
// fail.
LatencyMatrix PredictMatrix(const SpecialisationState& specialisation,
                            const std::vector<CandidateModel>& models);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_LATENCY_MATRIX_H_
