#include "model/relevance.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "model/candidate_model.h"
#include "model/eligibility.h"
#include "model/latency_matrix.h"

namespace wavetune {
namespace {

// The problems that anything was measured at, with no other of the
// specialisation's problems.
SpecialisationState AtObservedProblems(
    const ProfileInput& input, const SpecialisationState& specialisation) {
  SpecialisationState observed = specialisation;
  observed.representatives.clear();
  for (CandidateState& c : observed.candidates) {
    c.at.clear();
    c.legal.clear();
    for (const Observation& o : c.observations) {
      observed.representatives.push_back(o.problem);
    }
  }
  std::vector<Problem>& problems = observed.representatives;
  std::sort(problems.begin(), problems.end());
  problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
  PlaceRepresentatives(input, 0, observed);
  return observed;
}

size_t IndexOf(const std::vector<Problem>& sorted, const Problem& problem) {
  return static_cast<size_t>(
      std::lower_bound(sorted.begin(), sorted.end(), problem) - sorted.begin());
}

// Of each problem of `observed`, by `models`.
std::vector<double> BestLatencies(const SpecialisationState& observed,
                                  const std::vector<CandidateModel>& models) {
  std::vector<double> best(observed.representatives.size(),
                           std::numeric_limits<double>::infinity());
  const LatencyMatrix latencies = PredictMatrix(observed, models);
  const std::vector<bool> eligible = EligibleCandidates(observed);
  for (size_t i = 0; i < observed.candidates.size(); ++i) {
    if (eligible[i]) {
      for (size_t p = 0; p < best.size(); ++p) {
        best[p] = std::min(best[p], latencies[i][p]);
      }
    }
    for (const Observation& o : observed.candidates[i].observations) {
      if (o.weight < 1) continue;
      double& least = best[IndexOf(observed.representatives, o.problem)];
      least = std::min(least, o.latency_us);
    }
  }
  return best;
}

}  // namespace

double RelevanceOf(double behind) {
  return std::max(kLeastRelevance,
                  1 / (1 + std::max(0.0, behind) / kHalfRelevant));
}

void SetRelevance(const ProfileInput& input,
                  SpecialisationState& specialisation) {
  if (specialisation.axes.form != WaveForm::kOverlap) return;
  const int64_t multiprocessors = input.device.multiprocessors;
  const SpecialisationState observed =
      AtObservedProblems(input, specialisation);
  const std::vector<double> best = BestLatencies(
      observed, FitCandidates(observed, multiprocessors, kFewestObservations));
  const auto relevance = [&](const Observation& o, double latency_us) {
    const size_t problem = IndexOf(observed.representatives, o.problem);
    return RelevanceOf(latency_us / best[problem] - 1);
  };
  for (CandidateState& c : specialisation.candidates) {
    for (Observation& o : c.observations) {
      o.relevance = relevance(o, o.latency_us);
    }
  }
  const std::vector<CandidateModel> models =
      FitCandidates(specialisation, multiprocessors, kFewestObservations);
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].rows.empty()) continue;
    for (Observation& o : specialisation.candidates[i].observations) {
      const double predicted_us =
          PredictUs(specialisation.axes, models[i], o.at);
      o.relevance = std::max(o.relevance, relevance(o, predicted_us));
    }
  }
}

}  // namespace wavetune
