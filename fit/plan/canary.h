// Canary: few measurements of an older table's candidates that say how much of
// it still holds in another environment (another driver, runtime, power limit).
//
//   std::vector<CanaryPair> pairs = PlanCanary(input, verification.items);
//   DriftReport report = JudgeCanary(pairs, Measure(pairs));
//   switch (report.action) ...
//
// Why not simply profile: a driver leaves most kernels as fast as they were.
// Then the table holds; where all became slower alike its choices hold; and
// where one regime changed the samples of the others do
// (docs/decisions/0054). Pairs of one configuration and one problem are
// compared, then and now, so that no model's error is taken for drift.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_CANARY_H_
#define WAVETUNE_FIT_PLAN_CANARY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fit/plan/drift_report.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Fewer pairs say nothing.
inline constexpr size_t kFewestCompared = 8;

// What a canary compares with.
struct CanaryInput {
  const CompiledTable* table = nullptr;  // The older one.
  // Of the table's environment; of a pair the last counts. Throttled ones are
  // left out.
  absl::Span<const Sample> before;
};

// A configuration and a problem that were measured in both environments.
struct CanaryPair {
  MeasureItem item;
  Sample before;
  std::string regime;         // DriftRegime::name.
  double relative_bound = 0;  // The table's at the problem.
};

struct CanaryLimits {
  // Of pairs and the rest of the verification together.
  size_t measurements = 64;
  // Of the samples before, together: a canary takes seconds.
  double device_time_us = 5e6;
};

// Returns which pairs to measure anew: those of `verification` that were
// measured before (the rest of it is measured beside them, and has its room),
// then of the portfolio, by turns from each regime of the
// table, over its members, waves and loops. Short ones first. Deterministic;
// cannot fail: empty where nothing was measured before.
std::vector<CanaryPair> PlanCanary(const CanaryInput& input,
                                   const std::vector<MeasureItem>& verification,
                                   const CanaryLimits& limits = {});

// Returns what changed, and what to do about it. `measured` answers `pairs` in
// order; missing measurements (latency <= 0) and throttled ones leave their
// pairs out; one that was never stable counts as having a spread of 10 %. Sets
// neither environments nor digest nor time. Cannot fail.
//
// A regime drifted where the median of its ratios now / then is off by more
// than 3 % (or half the table's bound, at most 10 %) and twice the spread of
// its samples, where a quarter of its pairs scatter about that median by more
// than 10 % and three times their spread, or where two candidates changed
// places by more than noise. Off from what: from 1, or from the median of all
// where that leaves fewer drifted or none did, so that a clock that fell for
// all is one factor. kCarryOver: nothing drifted and all are within 2 % of
// before. kRefit: less than half of the pairs are of drifted regimes. Else
// kProfile, and where there were fewer than kFewestCompared pairs to measure.
// kUndecided: there were enough, and too few of them were measured.
DriftReport JudgeCanary(const std::vector<CanaryPair>& pairs,
                        const std::vector<Sample>& measured);

// Returns tiles per wave of a candidate of a specialisation; 0: unknown.
using TilesPerWave = std::function<int64_t(const std::string& specialisation,
                                           const Configuration& configuration)>;

// Returns the samples of before that a refit may rest on, as they would be
// measured now: those of regimes that did not drift, times the ratio of all.
// Their device time is 0: nobody spends it again. Cannot fail.
std::vector<Sample> KeptAfterDrift(const Table& table,
                                   const DriftReport& report,
                                   absl::Span<const Sample> before,
                                   const TilesPerWave& tiles_per_wave);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_CANARY_H_
