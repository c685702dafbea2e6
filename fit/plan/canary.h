// Canary: few measurements of an older table's candidates that say how much of
// it still holds in another environment (another driver, runtime, power limit).
//
//   std::vector<CanaryPair> pairs = PlanCanary(input, verification.items);
//   DriftReport report = JudgeCanary(pairs, Measure(pairs));
//   switch (report.action) ...  // kRefit rests on KeptAfterDrift(...).
//
// Why not simply profile: a driver leaves most kernels as fast as they were.
// Then the table holds; where all became slower alike its choices hold; and
// where one regime changed the samples of the others do
// (docs/decisions/0054). fit/plan/drift_verdict.h judges. Pairs of one
// configuration and one problem are compared, then and now, so that no model's
// error is taken for drift. A driver changes what problems of a kind take, or
// what a configuration takes: both are regimes, and pairs are judged by each.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_CANARY_H_
#define WAVETUNE_FIT_PLAN_CANARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"

namespace wavetune {

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
  // DriftRegime::name of either kind.
  std::string structure;
  std::string configuration;
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
// then of the portfolio, by turns from each regime of the table, over its
// members, waves and loops. Short ones first. Deterministic; cannot fail: empty
// where nothing was measured before.
std::vector<CanaryPair> PlanCanary(const CanaryInput& input,
                                   const std::vector<MeasureItem>& verification,
                                   const CanaryLimits& limits = {});

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_CANARY_H_
