#include "fit/plan/screening.h"

#include <algorithm>
#include <limits>

#include "base/parallel_for.h"
#include "fit/models/candidate_model.h"
#include "fit/models/latency_matrix.h"

namespace wavetune {
namespace {

constexpr double kUnpredicted = std::numeric_limits<double>::infinity();
// Fewer than a model needs: where half of the first anchors cannot be measured,
// the others still tell the hopeless, and sampling goes on.
constexpr size_t kFewestForScreening = 3;

// The candidate's model from its screening samples only.
CandidateModel CrudeModel(const SpecialisationState& specialisation,
                          const CandidateState& candidate,
                          const std::vector<Problem>& screening,
                          int64_t multiprocessors) {
  std::vector<Observation> observations;
  for (const Observation& o : candidate.observations) {
    if (std::find(screening.begin(), screening.end(), o.problem) !=
        screening.end()) {
      observations.push_back(o);
    }
  }
  if (observations.size() < kFewestForScreening) return {};
  return FitCandidate(specialisation.axes, candidate.candidate->tiles_per_wave,
                      multiprocessors, observations);
}

// How far each candidate is from the best where it is closest; infinity where
// it has no model. 1 for all where there is nothing to compare at.
std::vector<double> ClosestRatios(const SpecialisationState& specialisation,
                                  const std::vector<CandidateModel>& models) {
  const LatencyMatrix latencies = PredictMatrix(specialisation, models);
  std::vector<double> closest(models.size(), kUnpredicted);
  for (size_t p = 0; p < specialisation.representatives.size(); ++p) {
    double best = kUnpredicted;
    for (const auto& of_candidate : latencies) {
      best = std::min(best, of_candidate[p]);
    }
    if (best == kUnpredicted) continue;
    for (size_t i = 0; i < models.size(); ++i) {
      closest[i] = std::min(closest[i], latencies[i][p] / best);
    }
  }
  if (specialisation.representatives.empty()) {
    for (size_t i = 0; i < models.size(); ++i) {
      if (!models[i].models.empty()) closest[i] = 1;
    }
  }
  return closest;
}

}  // namespace

std::vector<size_t> Survivors(
    const SpecialisationState& specialisation,
    const std::vector<std::vector<Problem>>& screening, int64_t multiprocessors,
    size_t most) {
  const auto& candidates = specialisation.candidates;
  std::vector<CandidateModel> models(candidates.size());
  ParallelFor(candidates.size(), [&](size_t i) {
    models[i] = CrudeModel(specialisation, candidates[i], screening[i],
                           multiprocessors);
  });
  const std::vector<double> closest = ClosestRatios(specialisation, models);
  std::vector<size_t> order;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (closest[i] < kUnpredicted) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return closest[a] < closest[b]; });
  std::vector<size_t> kept;
  for (const size_t i : order) {
    if (kept.size() < most && closest[i] <= kHopelessRatio) kept.push_back(i);
  }
  const auto universal = [&](size_t i) { return candidates[i].universal; };
  if (std::none_of(kept.begin(), kept.end(), universal)) {
    const auto best = std::find_if(order.begin(), order.end(), universal);
    if (best != order.end()) kept.push_back(*best);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace wavetune
