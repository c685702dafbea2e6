#include "fit/models/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/table/wave_model.h"

namespace wavetune {
namespace {

constexpr double kLeastScale = 0.04;
constexpr double kQuantile = 0.93;
constexpr size_t kFewestScores = 20;
constexpr size_t kFewestOwnScores = 14;
constexpr size_t kFolds = 4;
constexpr double kLeastFactor = 1.5;
constexpr double kMostFactor = 3;
constexpr double kMostCalibrated = 0.30;
constexpr double kSuspectWidening = 1.5;
constexpr double kExtrapolatedWidening = 2;
constexpr double kMostExtrapolated = 1.5;  // Of the largest bound.

// The mean residual of few observations flatters a fit with six coefficients.
double ScaleOf(const SegmentQuality& quality) {
  const double n = static_cast<double>(quality.own);
  return quality.mean_residual * (n + 2) / std::max(n - 1, 1.0);
}

// |measured / predicted - 1| / scale of one held-out observation.
struct Score {
  double score;
  SegmentPlace place;
};

// Appends the scores of one candidate's representative observations, each
// predicted by a model that was fitted without its fold.
void AddScores(const SpecialisationState& specialisation,
               const CandidateState& candidate, int64_t multiprocessors,
               std::vector<Score>& scores) {
  const SubTable& axes = specialisation.axes;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<Observation> fitted;
    std::vector<const Observation*> held_out;
    size_t number = 0;
    for (const Observation& o : candidate.observations) {
      if (o.representative && number++ % kFolds == fold) {
        held_out.push_back(&o);
      } else {
        fitted.push_back(o);
      }
    }
    if (held_out.empty() || fitted.empty()) continue;
    const CandidateModel model = FitCandidate(
        axes, candidate.candidate->tiles_per_wave, multiprocessors, fitted);
    for (const Observation* o : held_out) {
      // As clients see them.
      const double measured_us =
          PowerLimitedUs(axes.power_limit, o->latency_us);
      const double predicted_us =
          PowerLimitedUs(axes.power_limit, PredictUs(axes, model, o->at));
      const double scale =
          std::max(kLeastScale, ScaleOf(QualityAt(axes, model, o->at)));
      scores.push_back({std::abs(measured_us / predicted_us - 1) / scale,
                        PlaceAt(axes, model.tiles_per_wave, o->at)});
    }
  }
}

// The quantile of held-out scores, a little above their own share as few scores
// demand, within limits.
double QuantileFactor(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  const double rank = kQuantile * static_cast<double>(scores.size() + 1);
  const size_t index =
      std::min(scores.size() - 1, static_cast<size_t>(std::ceil(rank)) - 1);
  return std::clamp(scores[index], kLeastFactor, kMostFactor);
}

bool AllSuspect(const SpecialisationState& specialisation,
                const std::vector<size_t>& members) {
  for (const size_t i : members) {
    for (const Observation& o : specialisation.candidates[i].observations) {
      if (o.weight == 1) return false;
    }
  }
  return true;
}

}  // namespace

BoundRule CalibrateBounds(const SpecialisationState& specialisation,
                          const std::vector<size_t>& members,
                          int64_t multiprocessors) {
  BoundRule rule;
  if (AllSuspect(specialisation, members)) {
    rule.factor *= kSuspectWidening;
    rule.most *= kSuspectWidening;
    return rule;
  }
  std::vector<Score> scores;
  for (const size_t i : members) {
    AddScores(specialisation, specialisation.candidates[i], multiprocessors,
              scores);
  }
  if (scores.size() < kFewestScores) return rule;
  const SubTable& axes = specialisation.axes;
  std::vector<double> all;
  for (const Score& s : scores) all.push_back(s.score);
  rule.factor = QuantileFactor(std::move(all));
  rule.least_scale = kLeastScale;
  rule.most = kMostCalibrated;
  rule.scores = static_cast<int>(scores.size());
  rule.own_factors.assign(axes.row_regimes.size(),
                          std::vector<double>(axes.max_waves.size()));
  for (size_t r = 0; r < axes.row_regimes.size(); ++r) {
    for (size_t w = 0; w < axes.max_waves.size(); ++w) {
      std::vector<double> own;
      for (const Score& s : scores) {
        if (s.place.row_regime == r && s.place.wave_regime == w) {
          own.push_back(s.score);
        }
      }
      if (own.size() < kFewestOwnScores) continue;
      rule.own_factors[r][w] = QuantileFactor(std::move(own));
    }
  }
  return rule;
}

double RelativeBound(const BoundRule& rule, size_t row, size_t wave,
                     const SegmentQuality& quality) {
  if (quality.own == 0) return rule.most;
  double factor = rule.factor;
  if (!rule.own_factors.empty() && rule.own_factors[row][wave] > 0) {
    factor = rule.own_factors[row][wave];
  }
  return std::min(factor * std::max(rule.least_scale, ScaleOf(quality)),
                  rule.most);
}

double ExtrapolatedBound(const BoundRule& rule, size_t row, size_t wave,
                         const SegmentQuality& quality) {
  return std::min(
      RelativeBound(rule, row, wave, quality) * kExtrapolatedWidening,
      rule.most * kMostExtrapolated);
}

}  // namespace wavetune
