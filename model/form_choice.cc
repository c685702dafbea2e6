#include "model/form_choice.h"

#include <algorithm>
#include <cmath>

#include "model/eligibility.h"
#include "model/held_out.h"

namespace wavetune {
namespace {

constexpr int kFolds = 2;
constexpr int kFewestPredictions = 40;
constexpr double kLeastGain = 0.05;
// A candidate that is far off does not decide for all.
constexpr double kMostError = 0.5;

struct Errors {
  double sum = 0;
  int count = 0;
};

Errors HeldOutErrors(const SpecialisationState& specialisation,
                     int64_t multiprocessors, WaveForm form) {
  SubTable axes = specialisation.axes;
  axes.form = form;
  Errors errors;
  for (const CandidateState& candidate : specialisation.candidates) {
    if (candidate.observations.size() <
        static_cast<size_t>(kFewestObservations)) {
      continue;
    }
    for (const HeldOut& held_out :
         PredictHeldOut(axes, candidate, multiprocessors, kFolds)) {
      const double ratio =
          held_out.predicted_us / held_out.observation->latency_us;
      errors.sum +=
          std::min(kMostError, std::abs(ratio - 1) / std::sqrt(ratio));
      ++errors.count;
    }
  }
  return errors;
}

}  // namespace

WaveForm ChooseForm(const SpecialisationState& specialisation,
                    int64_t multiprocessors) {
  const Errors sum =
      HeldOutErrors(specialisation, multiprocessors, WaveForm::kSum);
  if (sum.count < kFewestPredictions) return WaveForm::kSum;
  const Errors overlap =
      HeldOutErrors(specialisation, multiprocessors, WaveForm::kOverlap);
  return overlap.sum < sum.sum * (1 - kLeastGain) ? WaveForm::kOverlap
                                                  : WaveForm::kSum;
}

}  // namespace wavetune
