// Predicted latencies of all candidates at all representative problems.
#ifndef WAVETUNE_MODEL_LATENCY_MATRIX_H_
#define WAVETUNE_MODEL_LATENCY_MATRIX_H_

#include <vector>

#include "model/candidate_model.h"
#include "model/profile_state.h"

namespace wavetune {

// [candidate][representative problem] in microseconds; infinity where the
// candidate is not legal or has no model.
using LatencyMatrix = std::vector<std::vector<double>>;

// Predictions of two candidates of one macro configuration count as equal
// within this: the model tells their grids apart, not their stages. 0.02 is
// best on the H200 traces (2026-11); across macro configurations the same
// margin costs 0.2 %.
inline constexpr double kMicroTie = 0.02;

// Fits every candidate of a specialisation with at least `fewest` observations;
// the others get a model without rows. Models of the serving table stay where
// they do as well (model/incumbent_model.h). Cannot fail.
std::vector<CandidateModel> FitCandidates(
    const SpecialisationState& specialisation, int64_t multiprocessors,
    int fewest);

// Returns the predictions of the models. Cannot fail.
LatencyMatrix PredictMatrix(const SpecialisationState& specialisation,
                            const std::vector<CandidateModel>& models);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_LATENCY_MATRIX_H_
