#include "fit/models/rank_margins.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "fit/models/robust_fit.h"

namespace wavetune {
namespace {

// Weighted squares of residuals.
struct Spread {
  double weight = 0;
  double squares = 0;
  int representative = 0;  // Trusted ones at representative problems.

  void Add(double residual, double counts) {
    weight += counts;
    squares += counts * (residual * residual);
  }
};

using Spreads = std::vector<std::vector<Spread>>;  // [row regime][wave regime]

Spreads NoSpreads(const SubTable& axes) {
  return Spreads(axes.row_regimes.size(),
                 std::vector<Spread>(axes.max_waves.size()));
}

double ResidualOf(const SubTable& axes, const CandidateModel& model,
                  const Observation& observation) {
  const Equation row{.terms = {}, .latency_us = observation.latency_us};
  const double predicted_us = PredictUs(axes, model, observation.at);
  return std::min(RobustErrorOf(row, predicted_us).error, kMostResidual);
}

// Adds a candidate's residuals to its own spreads and to those of all.
Spreads AddSpreads(const SubTable& axes, const CandidateState& candidate,
                   const CandidateModel& model, Spreads& all) {
  Spreads own = NoSpreads(axes);
  for (const Observation& o : candidate.observations) {
    const SegmentPlace place = PlaceAt(axes, model.tiles_per_wave, o.at);
    const double residual = ResidualOf(axes, model, o);
    const double counts = o.weight * o.importance;
    Spread& spread = own[place.row_regime][place.wave_regime];
    spread.Add(residual, counts);
    spread.representative += o.representative && o.weight == 1 ? 1 : 0;
    all[place.row_regime][place.wave_regime].Add(residual, counts);
  }
  return own;
}

// `provable`: representative problems were named.
uint8_t MarginOf(const Spread& own, const Spread& all, bool provable) {
  if (!(own.weight > 0)) return 0;
  const double shared = all.squares / all.weight;
  const double variance = (own.squares + kSharedSpreadWeight * shared) /
                          (own.weight + kSharedSpreadWeight);
  const double error = std::sqrt(variance / (own.weight + 1));
  const bool unproven = provable && own.representative < kProvingObservations;
  const double margin =
      kMarginErrors * error + (unproven ? kUnprovenMargin : 0);
  return static_cast<uint8_t>(
      std::min(margin / kRankMarginUnit + 0.5,
               double{std::numeric_limits<uint8_t>::max()}));
}

bool HasMargins(const MacroGroup& group) {
  return std::any_of(
      group.models.begin(), group.models.end(), [](const auto& model) {
        return std::any_of(model.segments.begin(), model.segments.end(),
                           [](const auto& s) { return s.rank_margin != 0; });
      });
}

// The group of the serving table whose margins stay: a choice would else change
// with the number of samples. Null where the model is a new one, or the table
// has no margins.
const MacroGroup* ServingMargins(const CandidateState& candidate,
                                 const CandidateModel& model) {
  const MacroGroup* const group = candidate.incumbent_model;
  const bool stay =
      model.of_incumbent && group != nullptr && HasMargins(*group);
  return stay ? group : nullptr;
}

}  // namespace

void SetRankMargins(const SpecialisationState& specialisation,
                    std::vector<CandidateModel>& models) {
  const SubTable& axes = specialisation.axes;
  if (axes.form != WaveForm::kOverlap) return;
  Spreads all = NoSpreads(axes);
  std::vector<Spreads> own(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].models.empty()) continue;
    own[i] = AddSpreads(axes, specialisation.candidates[i], models[i], all);
  }
  for (size_t i = 0; i < models.size(); ++i) {
    const MacroGroup* const serving =
        ServingMargins(specialisation.candidates[i], models[i]);
    for (size_t r = 0; r < models[i].models.size(); ++r) {
      for (size_t w = 0; w < axes.max_waves.size(); ++w) {
        models[i].models[r].segments[w].rank_margin =
            serving != nullptr ? serving->models[r].segments[w].rank_margin
                               : MarginOf(own[i][r][w], all[r][w],
                                          specialisation.representatives_given);
      }
    }
  }
}

}  // namespace wavetune
