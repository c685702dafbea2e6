// Expected regret: the loss that choosing by the model is likely to cause.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_EXPECTED_REGRET_H_
#define WAVETUNE_FIT_MODELS_EXPECTED_REGRET_H_

#include <cstddef>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/latency_matrix.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// One candidate's latency at one representative problem.
struct Belief {
  double latency_us = 0;
  double spread = 0;  // Relative half-width.
  bool measured = false;
};

// Returns the measured latency, with the noise of a measurement, where there is
// one, else the prediction. A spread is kSigmas sigmas
// (fit/models/uncertainty.h). Cannot fail; the candidate must have a model.
Belief BeliefAt(const SpecialisationState& specialisation,
                const CandidateState& candidate, const CandidateModel& model,
                size_t representative);

// Returns the expected relative regret of `chosen` against `other`: both
// latencies uniform within their spreads, and their difference taken as uniform
// in the sum of the spreads. In [0, 1].
double ExpectedRegret(const Belief& chosen, const Belief& other);

// Returns the expected regret at a representative problem when the model
// chooses among `members` (indices of candidates): the worst over the others.
// 0 where no member is legal. Cannot fail.
double ExpectedRegretAt(const SpecialisationState& specialisation,
                        const std::vector<CandidateModel>& models,
                        const LatencyMatrix& latencies,
                        const std::vector<size_t>& members,
                        size_t representative);

// Returns the weighted mean over the representative problems. Cannot fail.
double MeanExpectedRegret(const SpecialisationState& specialisation,
                          const std::vector<CandidateModel>& models,
                          const LatencyMatrix& latencies,
                          const std::vector<size_t>& members);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_EXPECTED_REGRET_H_
