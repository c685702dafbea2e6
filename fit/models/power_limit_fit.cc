#include "fit/models/power_limit_fit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/parallel_for.h"
#include "fit/models/candidate_model.h"
#include "fit/models/eligibility.h"
#include "fit/models/form_mechanisms.h"

namespace wavetune {
namespace {

// Candidates that are asked at most, and long samples that these have at least.
constexpr size_t kMostAsked = 64;
// Slowdowns of 0 to 1/2.
constexpr auto kFactorSteps = static_cast<size_t>(0.5 / kSlowdownStep) + 1;
constexpr size_t kFirstStep = 3;  // H200s had 2 to 4.

bool IsLong(const Observation& observation) {
  return observation.latency_us > kLongUs;
}

// A candidate and how many of its observations are long.
struct Asked {
  const CandidateState* candidate;
  size_t long_ones;
};

std::vector<Asked> CandidatesWithLongSamples(
    const SpecialisationState& specialisation) {
  std::vector<Asked> asked;
  for (const CandidateState& c : specialisation.candidates) {
    if (c.observations.size() < kFewestObservations) continue;
    const auto long_ones = static_cast<size_t>(
        std::count_if(c.observations.begin(), c.observations.end(), IsLong));
    if (long_ones > 0) asked.push_back({&c, long_ones});
  }
  std::stable_sort(
      asked.begin(), asked.end(),
      [](const Asked& a, const Asked& b) { return a.long_ones > b.long_ones; });
  if (asked.size() > kMostAsked) asked.resize(kMostAsked);
  return asked;
}

class Search {
 public:
  Search(const SubTable& axes, int64_t multiprocessors,
         const std::vector<Asked>& asked)
      : axes_(axes), multiprocessors_(multiprocessors), asked_(asked) {}

  // Walks from the first guess downhill.
  size_t Best() {
    size_t at = kFirstStep;
    while (at > 0 && ErrorAt(at - 1) <= ErrorAt(at)) --at;
    if (at < kFirstStep) return at;
    while (at + 1 < kFactorSteps && ErrorAt(at + 1) < ErrorAt(at)) ++at;
    return at;
  }

  // Of the models fitted with this slowdown, as latencies were measured.
  double ErrorAt(size_t step) {
    std::optional<double>& error = errors_[step];
    if (!error.has_value()) {
      error = MeanError({kLongUs, kSlowdownStep * static_cast<double>(step)});
    }
    return *error;
  }

 private:
  double MeanError(const PowerLimitSlowdown& load) const {
    std::vector<WeightedError> errors(asked_.size());
    ParallelFor(asked_.size(), [&](size_t i) {
      const CandidateState& candidate = *asked_[i].candidate;
      std::vector<Observation> brief = candidate.observations;
      for (Observation& o : brief) o.latency_us = ShortUs(load, o.latency_us);
      const CandidateModel model = FitCandidate(
          axes_, candidate.candidate->tiles_per_wave, multiprocessors_, brief);
      errors[i] = ErrorOf(axes_, model, brief, load);
    });
    WeightedError error;
    for (const WeightedError& of_one : errors) {
      error.sum += of_one.sum;
      error.weight += of_one.weight;
    }
    return error.Mean();
  }

  const SubTable& axes_;
  const int64_t multiprocessors_;
  const std::vector<Asked>& asked_;
  std::array<std::optional<double>, kFactorSteps> errors_;
};

}  // namespace

PowerLimitSlowdown FitPowerLimitSlowdown(
    const SpecialisationState& specialisation, int64_t multiprocessors) {
  if (!MechanismsOf(specialisation.axes.form).power_limit) return {};
  const std::vector<Asked> asked = CandidatesWithLongSamples(specialisation);
  size_t long_ones = 0;
  for (const Asked& a : asked) long_ones += a.long_ones;
  if (long_ones < kMostAsked) return {};
  Search search(specialisation.axes, multiprocessors, asked);
  size_t step = search.Best();
  // The walk may have ended before it came there. To ask for a gain of 1 or 2 %
  // lets a plan waver between both: replays of gemm_bf16 chose 0.1 % worse.
  if (search.ErrorAt(step) >= search.ErrorAt(0)) step = 0;
  if (step == 0) return {};
  return {kLongUs, kSlowdownStep * static_cast<double>(step)};
}

}  // namespace wavetune
