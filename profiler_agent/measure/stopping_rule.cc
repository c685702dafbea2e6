#include "profiler_agent/measure/stopping_rule.h"

#include <algorithm>
#include <limits>

namespace wavetune {
namespace {

// Where the launches of a quiet device end. Our measurement of PoCL on two
// cores and of an H200 (shared anchors, five launches): undisturbed launches
// spread by 1-5 % and stay within 1.2x of the median; a stalled one is above
// 1.5x.
constexpr double kWideSpread = 0.10;
constexpr double kSpikeRatio = 1.5;

// Launches so long that two of them use up twice the sample's time, before
// there are min_launches: 76 of 1,375 samples took 38 % of a profile's device
// time (gemm_f32 on two cores), all of them of hopeless candidates.
constexpr int kFewestLongLaunches = 2;
constexpr double kLongLaunchesFactor = 2;

// A timing below this is short. 40 of them are an eighth of a sample's time.
constexpr double kShortTimingUs = 100;
constexpr double kMostShortLaunches = 8;  // Times as many.

}  // namespace

StoppingRule StoppingRule::WithDefaults() const {
  const StoppingRule defaults;
  StoppingRule rule = *this;
  if (rule.min_launches <= 0) rule.min_launches = defaults.min_launches;
  if (rule.max_launches <= 0) rule.max_launches = defaults.max_launches;
  // The negation also replaces NaN.
  if (!(rule.target_relative_error > 0)) {
    rule.target_relative_error = defaults.target_relative_error;
  }
  if (!(rule.max_device_time_us > 0)) {
    rule.max_device_time_us = defaults.max_device_time_us;
  }
  rule.max_launches = std::max(rule.max_launches, rule.min_launches);
  return rule;
}

double ShortLaunchFactor(const MeasurementProgress& progress) {
  if (progress.launches == 0) return 1;
  const double timing_us =
      progress.estimate.latency_us * progress.launches_per_timing;
  return std::clamp(kShortTimingUs / timing_us, 1.0, kMostShortLaunches);
}

int MostLaunches(const StoppingRule& rule,
                 const MeasurementProgress& progress) {
  return static_cast<int>(
      std::min<double>(std::numeric_limits<int>::max(),
                       rule.max_launches * ShortLaunchFactor(progress)));
}

StopReason Judge(const StoppingRule& rule,
                 const MeasurementProgress& progress) {
  if (progress.launches < rule.min_launches) {
    // A launch this long averages over moments by itself.
    const bool long_launches =
        progress.launches >= kFewestLongLaunches &&
        progress.device_time_us >=
            kLongLaunchesFactor * rule.max_device_time_us;
    return long_launches ? StopReason::kMaxDeviceTime : StopReason::kGoOn;
  }
  if (progress.estimate.relative_half_width <= rule.target_relative_error) {
    return StopReason::kTargetMet;
  }
  if (progress.launches >= MostLaunches(rule, progress)) {
    return StopReason::kMaxLaunches;
  }
  if (progress.device_time_us >= rule.max_device_time_us) {
    return StopReason::kMaxDeviceTime;
  }
  return StopReason::kGoOn;
}

int NextBurstLaunches(const StoppingRule& rule,
                      const MeasurementProgress& progress) {
  if (progress.launches == 0) return rule.min_launches;
  const int left =
      std::max(1, MostLaunches(rule, progress) - progress.launches);
  const double time_left = rule.max_device_time_us - progress.device_time_us;
  const double affordable = std::clamp(
      time_left / progress.estimate.latency_us / progress.launches_per_timing,
      1.0, 1e6);
  return std::min({left, progress.launches, static_cast<int>(affordable)});
}

bool LooksDisturbed(const LatencyEstimate& estimate) {
  return estimate.relative_spread > kWideSpread ||
         estimate.worst_ratio > kSpikeRatio;
}

}  // namespace wavetune
