// LatencyEstimate: one number, with its uncertainty, from noisy launch times.
//
// The estimate is the lower quartile of the launch times: the median of the
// fastest half. Device time is disturbed in one direction only (preemption, a
// lazy compile, another tenant's traffic make a launch slower, never faster).
// So a low quantile stands still until three launches in four are disturbed.
// What lost, on synthetic noise like that of a busy two-core machine
// (latency_estimate_test.cc):
// - the mean: one launch at 6x moves it by a quarter with 20 launches;
// - the median: jumps as soon as half of the launches share a core;
// - the minimum: keeps falling with the number of launches, so candidates that
//   were launched more often look faster, and it has no error bar.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_LATENCY_ESTIMATE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_LATENCY_ESTIMATE_H_

#include "absl/types/span.h"

namespace wavetune {

struct LatencyEstimate {
  double latency_us = 0;           // Lower quartile.
  double min_us = 0;               // Fastest launch.
  double relative_half_width = 0;  // The 90 % interval's, over latency_us.
  double relative_spread = 0;      // (Q3 - Q1) / median.
  double worst_ratio = 1;          // Slowest launch / median.
};

// Returns the value below which the fraction `q` in [0, 1] of `sorted` lies,
// interpolated between neighbours. Requires at least one value.
double Quantile(absl::Span<const double> sorted, double q);

// Returns the estimate of one launch's device time.
//
// Shapes: `launch_us` has at least one element, each finite and > 0; any order.
// Errors: cannot fail.
// Cost:   O(n log n).
// Source: the interval is the distribution-free one for a quantile (David &
//         Nagaraja, Order Statistics, section 7.1). It lies between the order
//         statistics at n q +- 1.645 sqrt(n q (1 - q)). Deviation: ranks are
//         interpolated and clamped to the sample, so that few launches give a
//         width at all.
LatencyEstimate EstimateLatency(absl::Span<const double> launch_us);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_LATENCY_ESTIMATE_H_
