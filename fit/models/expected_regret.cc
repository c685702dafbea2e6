#include "fit/models/expected_regret.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "fit/models/uncertainty.h"

namespace wavetune {
namespace {

constexpr double kMeasuredSigma = 0.006;  // Of a robust estimate of a launch.

const Observation* FindObservation(const CandidateState& candidate,
                                   const Problem& problem) {
  const auto found = std::lower_bound(
      candidate.observations.begin(), candidate.observations.end(), problem,
      [](const Observation& o, const Problem& p) { return o.problem < p; });
  if (found == candidate.observations.end() || found->problem != problem) {
    return nullptr;
  }
  return &*found;
}

}  // namespace

Belief BeliefAt(const SpecialisationState& specialisation,
                const CandidateState& candidate, const CandidateModel& model,
                size_t representative) {
  const Observation* const seen = FindObservation(
      candidate, specialisation.representatives[representative]);
  if (seen != nullptr && seen->weight == 1) {
    return {seen->latency_us, kMeasuredSigma * kSigmas, true};
  }
  const Coordinates& at = candidate.at[representative];
  const Uncertainty& uncertainty =
      UncertaintyAt(specialisation.axes, model, at);
  return {PredictUs(specialisation.axes, model, at),
          Sigma(uncertainty) * kSigmas, seen != nullptr};
}

double ExpectedRegret(const Belief& chosen, const Belief& other) {
  const double ahead =
      (other.latency_us - chosen.latency_us) / chosen.latency_us;
  const double spread = chosen.spread + other.spread;
  if (ahead >= spread) return 0;
  // E[max(0, x - ahead)] for x uniform in [-spread, spread].
  const double regret =
      ahead <= -spread ? -ahead
                       : (spread - ahead) * (spread - ahead) / (4 * spread);
  return std::min(regret, 1.0);
}

double ExpectedRegretAt(const SpecialisationState& specialisation,
                        const std::vector<CandidateModel>& models,
                        const LatencyMatrix& latencies,
                        const std::vector<size_t>& members,
                        size_t representative) {
  size_t chosen = SIZE_MAX;
  double fastest = std::numeric_limits<double>::infinity();
  for (const size_t i : members) {
    if (latencies[i][representative] < fastest) {
      fastest = latencies[i][representative];
      chosen = i;
    }
  }
  if (chosen == SIZE_MAX) return 0;
  const auto belief = [&](size_t i) {
    return BeliefAt(specialisation, specialisation.candidates[i], models[i],
                    representative);
  };
  const Belief of_chosen = belief(chosen);
  double worst = 0;
  for (const size_t i : members) {
    // Far behind by any account: not worth the look-up.
    if (i == chosen || latencies[i][representative] > 2 * fastest) continue;
    worst = std::max(worst, ExpectedRegret(of_chosen, belief(i)));
  }
  return worst;
}

double MeanExpectedRegret(const SpecialisationState& specialisation,
                          const std::vector<CandidateModel>& models,
                          const LatencyMatrix& latencies,
                          const std::vector<size_t>& members) {
  double mean = 0;
  for (size_t p = 0; p < specialisation.representatives.size(); ++p) {
    mean += specialisation.weights[p] *
            ExpectedRegretAt(specialisation, models, latencies, members, p);
  }
  return mean;
}

}  // namespace wavetune
