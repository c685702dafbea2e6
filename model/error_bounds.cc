#include "model/error_bounds.h"

#include <algorithm>
#include <cmath>

namespace wavetune {
namespace {

constexpr double kLeastScale = 0.04;
constexpr double kQuantile = 0.94;
constexpr size_t kFewestScores = 20;
constexpr size_t kFolds = 4;
constexpr double kLeastFactor = 1.5;
constexpr double kMostFactor = 4;
constexpr double kMostCalibrated = 0.30;
constexpr double kSuspectWidening = 1.5;
constexpr double kExtrapolatedWidening = 1.5;

// The mean residual of few observations flatters a fit with six coefficients.
double ScaleOf(const SegmentQuality& quality) {
  const double n = static_cast<double>(quality.own);
  return quality.mean_residual * (n + 2) / std::max(n - 1, 1.0);
}

// Appends the scores of one candidate's representative observations, each
// predicted by a model that was fitted without its fold.
void AddScores(const SpecialisationState& specialisation,
               const CandidateState& candidate, int64_t multiprocessors,
               std::vector<double>& scores) {
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
    const CandidateModel model =
        FitCandidate(specialisation.axes, candidate.candidate->capacity,
                     multiprocessors, fitted);
    for (const Observation* o : held_out) {
      const double predicted = PredictUs(specialisation.axes, model, o->at);
      const double scale = std::max(
          kLeastScale, ScaleOf(QualityAt(specialisation.axes, model, o->at)));
      scores.push_back(std::abs(o->latency_us / predicted - 1) / scale);
    }
  }
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
    rule.least *= kSuspectWidening;
    rule.most *= kSuspectWidening;
    return rule;
  }
  std::vector<double> scores;
  for (const size_t i : members) {
    AddScores(specialisation, specialisation.candidates[i], multiprocessors,
              scores);
  }
  if (scores.size() < kFewestScores) return rule;
  std::sort(scores.begin(), scores.end());
  const double rank = kQuantile * static_cast<double>(scores.size() + 1);
  const size_t index =
      std::min(scores.size() - 1, static_cast<size_t>(std::ceil(rank)) - 1);
  rule.factor = std::clamp(scores[index], kLeastFactor, kMostFactor);
  rule.least = rule.factor * kLeastScale;
  rule.most = kMostCalibrated;
  rule.scores = static_cast<int>(scores.size());
  return rule;
}

double RelativeBound(const BoundRule& rule, const SegmentQuality& quality) {
  if (quality.own == 0) return rule.most;
  return std::clamp(rule.factor * ScaleOf(quality), rule.least, rule.most);
}

double ExtrapolatedBound(const BoundRule& rule, const SegmentQuality& quality) {
  return RelativeBound(rule, quality) * kExtrapolatedWidening;
}

}  // namespace wavetune
