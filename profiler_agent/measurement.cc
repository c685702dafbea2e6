#include "profiler_agent/measurement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// A sample whose interval is this many times wider than asked for is suspect.
// Three: on two shared cores a tenth of the samples end between one and three
// times the target, and the fit's robust loss copes with those.
constexpr double kSuspectFactor = 3;

}  // namespace

Measurement::Measurement(Configuration configuration, Problem problem,
                         const StoppingRule& rule)
    : configuration_(configuration),
      problem_(std::move(problem)),
      rule_(rule.WithDefaults()) {
  next_.launches = NextBurstLaunches(rule_, progress_);
}

absl::Status Measurement::Add(const LaunchTimes& times) {
  if (times.launch_us.empty()) {
    return absl::InternalError("the device reported no launch times");
  }
  for (const double us : times.launch_us) {
    if (!std::isfinite(us) || us <= 0) {
      return absl::InternalError(
          absl::StrCat("the device reported a launch time of ", us,
                       " us; profiling timers may not work on it"));
    }
  }
  for (const double us : times.launch_us) {
    launch_us_.push_back(us);
    progress_.device_time_us += us * std::max(1, times.launches_per_timing);
  }
  if (std::isfinite(times.warmup_us) && times.warmup_us > 0) {
    progress_.device_time_us += times.warmup_us;
  }
  throttled_ |= times.throttled;
  progress_.launches = static_cast<int>(launch_us_.size());
  progress_.estimate = EstimateLatency(launch_us_);

  const StopReason verdict = Judge(rule_, progress_);
  done_ = verdict != StopReason::kGoOn;
  if (verdict == StopReason::kTargetMet && !repeated_ &&
      LooksDisturbed(progress_.estimate) &&
      progress_.launches < rule_.max_launches &&
      progress_.device_time_us < rule_.max_device_time_us) {
    done_ = false;
  }
  if (verdict != StopReason::kGoOn) repeated_ = true;
  next_.launches = NextBurstLaunches(rule_, progress_);
  return absl::OkStatus();
}

Sample Measurement::Result() const {
  const LatencyEstimate& estimate = progress_.estimate;
  Sample sample;
  sample.configuration = configuration_;
  sample.problem = problem_;
  sample.latency_us = estimate.latency_us;
  sample.min_us = estimate.min_us;
  sample.relative_spread = estimate.relative_spread;
  sample.launches = progress_.launches;
  sample.device_time_us = progress_.device_time_us;
  sample.suspect =
      throttled_ || estimate.relative_half_width >
                        kSuspectFactor * rule_.target_relative_error;
  return sample;
}

}  // namespace wavetune
