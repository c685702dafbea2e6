#include "fit/models/importance.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/parallel_for.h"
#include "fit/models/candidate_model.h"
#include "fit/models/eligibility.h"
#include "fit/models/form_mechanisms.h"
#include "fit/models/latency_matrix.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Sorted.
std::vector<Problem> ObservedProblems(
    const SpecialisationState& specialisation) {
  std::vector<Problem> problems;
  for (const CandidateState& c : specialisation.candidates) {
    for (const Observation& o : c.observations) problems.push_back(o.problem);
  }
  std::sort(problems.begin(), problems.end());
  problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
  return problems;
}

size_t IndexOf(const std::vector<Problem>& sorted, const Problem& problem) {
  return static_cast<size_t>(
      std::lower_bound(sorted.begin(), sorted.end(), problem) - sorted.begin());
}

// Of each of `problems`, by `models`. Nothing is kept per candidate: there are
// thousands of problems, as most candidates have anchors of their own.
std::vector<double> BestLatencies(const ProfileInput& input,
                                  const SpecialisationState& specialisation,
                                  const std::vector<CandidateModel>& models,
                                  const std::vector<Problem>& problems) {
  std::vector<double> best(problems.size(),
                           std::numeric_limits<double>::infinity());
  const std::vector<bool> eligible = EligibleCandidates(specialisation);
  const auto& spec = input.spec->Of(specialisation.name);
  ParallelFor(problems.size(), [&](size_t p) {
    const ProblemView problem = problems[p].View();
    for (size_t i = 0; i < models.size(); ++i) {
      if (!eligible[i] || models[i].models.empty()) continue;
      const CandidateState& c = specialisation.candidates[i];
      const Configuration& configuration = c.candidate->configuration;
      if (!c.universal && !IsLegal(spec, configuration, problem)) continue;
      const Coordinates at =
          MapProblem(*specialisation.mapping, problem, configuration);
      best[p] =
          std::min(best[p], PredictUs(specialisation.axes, models[i], at));
    }
  });
  for (const CandidateState& c : specialisation.candidates) {
    for (const Observation& o : c.observations) {
      if (o.weight < 1) continue;
      double& least = best[IndexOf(problems, o.problem)];
      least = std::min(least, o.latency_us);
    }
  }
  return best;
}

}  // namespace

double ImportanceOf(double behind) {
  return std::max(kLeastImportance,
                  1 / (1 + std::max(0.0, behind) / kHalfImportant));
}

void SetImportance(const ProfileInput& input,
                   SpecialisationState& specialisation) {
  if (!MechanismsOf(specialisation.axes.form).importance) return;
  const int64_t multiprocessors = input.device.multiprocessors;
  const std::vector<Problem> problems = ObservedProblems(specialisation);
  const std::vector<double> best = BestLatencies(
      input, specialisation,
      FitCandidates(specialisation, multiprocessors, kFewestObservations),
      problems);
  const auto importance = [&](const Observation& o, double latency_us) {
    return ImportanceOf(latency_us / best[IndexOf(problems, o.problem)] - 1);
  };
  for (CandidateState& c : specialisation.candidates) {
    for (Observation& o : c.observations) {
      o.importance = importance(o, o.latency_us);
    }
  }
  const std::vector<CandidateModel> models =
      FitCandidates(specialisation, multiprocessors, kFewestObservations);
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].models.empty()) continue;
    for (Observation& o : specialisation.candidates[i].observations) {
      const double predicted_us =
          PredictUs(specialisation.axes, models[i], o.at);
      o.importance = std::max(o.importance, importance(o, predicted_us));
    }
  }
}

}  // namespace wavetune
