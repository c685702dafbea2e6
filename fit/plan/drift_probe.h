// Drift probe: few measurements of an older table's candidates that say whether
// it holds in another environment (another driver, runtime, power limit), or is
// to be profiled anew.
//
//   const auto pairs = PlanDriftProbe(input, verification.items);
//   DriftReport report = JudgeDriftProbe(pairs, Measure(pairs));
//
// Why not simply profile: a driver leaves most kernels as fast as they were
// (docs/decisions/0054). Pairs of one configuration and one problem are
// compared, then and now, so that no model's error is taken for drift. A driver
// changes what problems of a kind take, or what a configuration takes: both are
// regimes, and pairs are judged by each.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_DRIFT_PROBE_H_
#define WAVETUNE_FIT_PLAN_DRIFT_PROBE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fit/plan/drift_report.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"

namespace wavetune {

// What a drift probe compares with.
struct DriftProbeInput {
  const CompiledTable* table = nullptr;  // The older one.
  // Samples of the table's environment; of a pair the last counts. Throttled
  // ones are left out.
  absl::Span<const Sample> before;
};

// A configuration and a problem that were measured in both environments.
struct DriftProbePair {
  MeasureItem item;
  Sample before;
  // DriftRegime::name of either kind.
  std::string structure;
  std::string configuration;
};

struct DriftProbeLimits {
  // Pairs and the rest of the verification together.
  size_t measurements = 64;
  // For the samples before, together: a drift probe takes seconds.
  double device_time_us = 5e6;
};

// Returns which pairs to measure anew. First come the verification points that
// have an earlier sample; room is kept for the others. Then come portfolio
// members, by turns from each kind of problems, over members, waves and loops.
// Short ones first. Deterministic; cannot fail: empty where nothing was
// measured before.
std::vector<DriftProbePair> PlanDriftProbe(
    const DriftProbeInput& input, const std::vector<MeasureItem>& verification,
    const DriftProbeLimits& limits = {});

// With fewer pairs nothing is said of a table.
inline constexpr size_t kFewestCompared = 8;

// Returns whether the table holds. `measured` answers `pairs` in order; missing
// measurements (latency <= 0) and throttled ones leave their pairs out. Sets
// neither environments nor digest nor time. Cannot fail.
//
// A regime, or all pairs together, drifted where more than half of its pairs
// are off to one side. That is by more than 3 %, twice the spread of their
// samples, and four standard deviations of pairs: both of the mean of so many.
// A standard deviation follows from the median distance to the median of all,
// as a busy host does to single pairs what their own launches do not tell. A
// regime of a single pair is not judged.
//
// kCarryOver: nothing drifted, and less than a quarter of all pairs are off as
// single ones. Else kProfile, and where there were fewer than kFewestCompared
// pairs to measure. kUndecided: there were enough, and too few of them were
// measured.
DriftReport JudgeDriftProbe(const std::vector<DriftProbePair>& pairs,
                            const std::vector<Sample>& measured);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_DRIFT_PROBE_H_
