#include "fit/models/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "fit/models/form_mechanisms.h"
#include "fit/models/robust_fit.h"
#include "model/kernel/wave_form.h"

namespace wavetune {
namespace {

// Weighted squares of residuals.
struct Squares {
  double weight = 0;
  double sum = 0;

  void Add(double residual, double counts) {
    weight += counts;
    sum += counts * (residual * residual);
  }
};

using SquaresOfSegments = std::vector<std::vector<Squares>>;  // [row][wave]

SquaresOfSegments NoSquares(const SubTable& axes) {
  return SquaresOfSegments(axes.row_regimes.size(),
                           std::vector<Squares>(axes.max_waves.size()));
}

double ResidualOf(const SubTable& axes, const CandidateModel& model,
                  const Observation& observation) {
  const Equation row{.terms = {}, .latency_us = observation.latency_us};
  const double predicted_us = PredictUs(axes, model, observation.at);
  return std::min(RobustErrorOf(row, predicted_us).error, kMostResidual);
}

// Adds a candidate's residuals to its own squares and to those of all.
SquaresOfSegments AddSquares(const SubTable& axes,
                             const CandidateState& candidate,
                             const CandidateModel& model,
                             SquaresOfSegments& all) {
  SquaresOfSegments own = NoSquares(axes);
  for (const Observation& o : candidate.observations) {
    const SegmentPlace place = PlaceAt(axes, model.tiles_per_wave, o.at);
    const double residual = ResidualOf(axes, model, o);
    const double counts = o.weight * o.importance;
    own[place.row_regime][place.wave_regime].Add(residual, counts);
    all[place.row_regime][place.wave_regime].Add(residual, counts);
  }
  return own;
}

Uncertainty UncertaintyOf(const Squares& own, const Squares& all) {
  if (!(all.weight > 0)) return {kMostResidual, kUnmeasuredMargin};
  const double shared = all.sum / all.weight;
  const double variance = (own.sum + kSharedScatterWeight * shared) /
                          (own.weight + kSharedScatterWeight);
  Uncertainty result{.scatter = std::sqrt(variance)};
  result.bias = own.weight > 0 ? std::sqrt(variance / (own.weight + 1))
                               : kUnmeasuredMargin;
  return result;
}

uint8_t MarginOf(const Uncertainty& uncertainty) {
  return static_cast<uint8_t>(
      std::min(kRankErrors * uncertainty.bias / kRankMarginUnit + 0.5,
               double{std::numeric_limits<uint8_t>::max()}));
}

}  // namespace

double Sigma(const Uncertainty& uncertainty) {
  const auto& [scatter, bias] = uncertainty;
  return std::max(kLeastSigma, std::sqrt(scatter * scatter + bias * bias));
}

void SetUncertainty(const SpecialisationState& specialisation,
                    std::vector<CandidateModel>& models) {
  const SubTable& axes = specialisation.axes;
  const bool with_margins = MechanismsOf(axes.form).rank_margins;
  SquaresOfSegments all = NoSquares(axes);
  std::vector<SquaresOfSegments> own(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].models.empty()) continue;
    own[i] = AddSquares(axes, specialisation.candidates[i], models[i], all);
  }
  for (size_t i = 0; i < models.size(); ++i) {
    models[i].uncertainty.assign(models[i].models.size(), {});
    for (size_t r = 0; r < models[i].models.size(); ++r) {
      for (size_t w = 0; w < axes.max_waves.size(); ++w) {
        const Uncertainty& of_segment = models[i].uncertainty[r].emplace_back(
            UncertaintyOf(own[i][r][w], all[r][w]));
        const bool competes = with_margins && own[i][r][w].weight > 0;
        models[i].models[r].segments[w].rank_margin =
            competes ? MarginOf(of_segment) : 0;
      }
    }
  }
}

}  // namespace wavetune
