#include "fit/models/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fit/models/held_out.h"
#include "fit/models/uncertainty.h"
#include "model/kernel/wave_form.h"

namespace wavetune {
namespace {

constexpr double kQuantile = 0.93;
constexpr size_t kFewestScores = 20;
constexpr size_t kFolds = 4;

// Appends |measured / predicted - 1| / sigma of one candidate's representative
// observations, each predicted by a model that was fitted without its fold.
void AddScores(const SpecialisationState& specialisation,
               const CandidateState& candidate, const CandidateModel& model,
               int64_t multiprocessors, std::vector<double>& scores) {
  const SubTable& axes = specialisation.axes;
  for (const HeldOutFold& fold : HeldOutFolds(candidate.observations, kFolds)) {
    const CandidateModel without =
        FitCandidate(axes, model.tiles_per_wave, multiprocessors, fold.fitted);
    for (const Observation* o : fold.held_out) {
      // As clients see them.
      const double measured_us =
          PowerLimitedUs(axes.power_limit, o->latency_us);
      const double predicted_us =
          PowerLimitedUs(axes.power_limit, PredictUs(axes, without, o->at));
      scores.push_back(std::abs(measured_us / predicted_us - 1) /
                       Sigma(UncertaintyAt(axes, model, o->at)));
    }
  }
}

// A little above its own share, as few scores demand.
double QuantileOf(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  const double rank = kQuantile * static_cast<double>(scores.size() + 1);
  const size_t index =
      std::min(scores.size() - 1, static_cast<size_t>(std::ceil(rank)) - 1);
  return scores[index];
}

bool AnyTrusted(const SpecialisationState& specialisation,
                const std::vector<size_t>& members) {
  return std::any_of(members.begin(), members.end(), [&](size_t i) {
    const auto& seen = specialisation.candidates[i].observations;
    return std::any_of(seen.begin(), seen.end(),
                       [](const Observation& o) { return o.weight == 1; });
  });
}

}  // namespace

BoundRule CalibrateBounds(const SpecialisationState& specialisation,
                          const std::vector<CandidateModel>& models,
                          const std::vector<size_t>& members,
                          int64_t multiprocessors) {
  BoundRule rule{.trusted = AnyTrusted(specialisation, members)};
  if (!rule.trusted) return rule;
  std::vector<double> scores;
  for (const size_t i : members) {
    AddScores(specialisation, specialisation.candidates[i], models[i],
              multiprocessors, scores);
  }
  if (scores.size() < kFewestScores) return rule;
  rule.scores = static_cast<int>(scores.size());
  rule.factor = QuantileOf(std::move(scores));
  return rule;
}

double RelativeBound(const BoundRule& rule, const Uncertainty& uncertainty) {
  const double bound = rule.factor * Sigma(uncertainty);
  return rule.trusted ? bound : bound + kUnmeasuredMargin;
}

double ExtrapolatedBound(const BoundRule& rule,
                         const Uncertainty& uncertainty) {
  return RelativeBound(rule, uncertainty) + kUnmeasuredMargin;
}

}  // namespace wavetune
