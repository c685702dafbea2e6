#include "profiler_agent/measure/measurement.h"

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

// Bursts of a throttled device, or a stalled host, after which a measurement
// gives up: with the pauses in between (CoolDown) a few seconds.
constexpr int kMostAside = 4;

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
  if (times.disturbed()) {
    PutAside(times);
    return absl::OkStatus();
  }
  sound_.Add(times, times.DeviceTimeUs());
  Assess(sound_);

  const StopReason verdict = Judge(rule_, progress_);
  done_ = verdict != StopReason::kGoOn;
  if (verdict == StopReason::kTargetMet && !repeated_ &&
      LooksDisturbed(progress_.estimate) &&
      progress_.launches < MostLaunches(rule_, progress_) &&
      progress_.device_time_us < rule_.max_device_time_us) {
    done_ = false;
  }
  if (verdict != StopReason::kGoOn) repeated_ = true;
  next_.launches = NextBurstLaunches(rule_, progress_);
  return absl::OkStatus();
}

void Measurement::Discard(const LaunchTimes& times) {
  const double us = times.DeviceTimeUs();
  if (std::isfinite(us)) discarded_us_ += us;
}

void Measurement::PutAside(const LaunchTimes& times) {
  aside_.Add(times, times.DeviceTimeUs());
  ++bursts_aside_;
  if (sound_.times.launch_us.empty()) Assess(aside_);
  given_up_ = bursts_aside_ >= kMostAside;
  if (!given_up_) return;
  done_ = true;
  if (static_cast<int>(sound_.times.launch_us.size()) >= rule_.min_launches) {
    return;
  }
  sound_.Add(aside_.times, aside_.device_time_us);
  rests_on_aside_ = true;
  Assess(sound_);
}

void Measurement::Assess(const Launches& launches) {
  progress_.launches = static_cast<int>(launches.times.launch_us.size());
  progress_.launches_per_timing = launches.times.launches_per_timing;
  progress_.device_time_us = launches.device_time_us;
  progress_.estimate = EstimateLatency(launches.times.launch_us);
}

void Measurement::Launches::Add(const LaunchTimes& burst,
                                double burst_device_time_us) {
  times.Add(burst);
  device_time_us += burst_device_time_us;
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
  // All that it cost, also what was put aside.
  sample.device_time_us = sound_.device_time_us + discarded_us_ +
                          (rests_on_aside_ ? 0 : aside_.device_time_us);
#define WAVETUNE_GIVE(fact, of_both) sample.fact = sound_.times.fact;
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_GIVE)
#undef WAVETUNE_GIVE
  sample.suspect |=
      rests_on_aside_ || estimate.relative_half_width >
                             kSuspectFactor * rule_.target_relative_error;
  return sample;
}

}  // namespace wavetune
