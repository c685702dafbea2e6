#include "fit/models/latency_matrix.h"

#include <cstddef>
#include <limits>

#include "base/parallel_for.h"

namespace wavetune {

std::vector<CandidateModel> FitCandidates(
    const SpecialisationState& specialisation, int64_t multiprocessors,
    int fewest) {
  std::vector<CandidateModel> models(specialisation.candidates.size());
  ParallelFor(models.size(), [&](size_t i) {
    const CandidateState& c = specialisation.candidates[i];
    if (static_cast<int>(c.observations.size()) < fewest) return;
    models[i] = FitCandidate(specialisation.axes, c.candidate->tiles_per_wave,
                             multiprocessors, c.observations);
  });
  return models;
}

LatencyMatrix PredictMatrix(const SpecialisationState& specialisation,
                            const std::vector<CandidateModel>& models) {
  LatencyMatrix matrix(models.size());
  ParallelFor(models.size(), [&](size_t i) {
    const CandidateState& c = specialisation.candidates[i];
    matrix[i].assign(c.at.size(), std::numeric_limits<double>::infinity());
    if (models[i].models.empty()) return;
    for (size_t p = 0; p < c.at.size(); ++p) {
      if (!c.legal[p]) continue;
      matrix[i][p] = RankUs(specialisation.axes, models[i], c.at[p]);
    }
  });
  return matrix;
}

}  // namespace wavetune
