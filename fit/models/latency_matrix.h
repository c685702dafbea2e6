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

// Predictions of two candidates of one macro configuration count as equal
// within this: the model tells their grids apart better than their stages. Up
// to 0.01 chooses at 98.0-98.5 % of the best on the H200 Triton GEMM trace,
// 0.015 and 0.02 at 98.8 %. Five profiles of gemm_bf16 judged on five H200
// (portfolios of 96, unseen and known shapes): 0: 98.90 and 98.95 %,
// 0.01: 98.95 and 98.95 %, 0.015: 98.92 and 98.90 %, 0.02: 98.88 and 98.78 %
// (2026-11). Across macro configurations the same margin costs 0.2 %.
inline constexpr double kMicroTie = 0.015;

// Fits every candidate of a specialisation with at least `fewest` observations;
// the others get a model without rows. Models of the serving table stay where
// they do as well (fit/models/incumbent_model.h). Cannot fail.
std::vector<CandidateModel> FitCandidates(
    const SpecialisationState& specialisation, int64_t multiprocessors,
    int fewest);

// Returns the predictions of the models; with rank margins on top where
// SetRankMargins (fit/models/rank_margins.h) has given them any. Cannot
// fail.
LatencyMatrix PredictMatrix(const SpecialisationState& specialisation,
                            const std::vector<CandidateModel>& models);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_LATENCY_MATRIX_H_
