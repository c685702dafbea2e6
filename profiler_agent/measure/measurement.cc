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

int32_t LowerClock(int32_t a, int32_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

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
  sound_.Add(times);
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
  aside_.Add(times);
  ++bursts_aside_;
  if (sound_.us.empty()) Assess(aside_);
  given_up_ = bursts_aside_ >= kMostAside;
  if (!given_up_) return;
  done_ = true;
  if (static_cast<int>(sound_.us.size()) >= rule_.min_launches) {
    return;
  }
  sound_.Add(aside_);
  rests_on_aside_ = true;
  Assess(sound_);
}

void Measurement::Assess(const Launches& launches) {
  progress_.launches = static_cast<int>(launches.us.size());
  progress_.launches_per_timing = launches.launches_per_timing;
  progress_.device_time_us = launches.device_time_us;
  progress_.estimate = EstimateLatency(launches.us);
}

void Measurement::Launches::Add(const LaunchTimes& times) {
  us.insert(us.end(), times.launch_us.begin(), times.launch_us.end());
  device_time_us += times.DeviceTimeUs();
  sm_clock_mhz = LowerClock(sm_clock_mhz, times.sm_clock_mhz);
  throttle_reasons |= times.throttle_reasons;
  throttled |= times.throttled;
  suspect |= times.suspect;
  launches_per_timing = std::max(1, times.launches_per_timing);
}

void Measurement::Launches::Add(const Launches& other) {
  us.insert(us.end(), other.us.begin(), other.us.end());
  device_time_us += other.device_time_us;
  sm_clock_mhz = LowerClock(sm_clock_mhz, other.sm_clock_mhz);
  throttle_reasons |= other.throttle_reasons;
  throttled |= other.throttled;
  suspect |= other.suspect;
  launches_per_timing = other.launches_per_timing;
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
  sample.suspect = rests_on_aside_ || sound_.suspect ||
                   estimate.relative_half_width >
                       kSuspectFactor * rule_.target_relative_error;
  sample.sm_clock_mhz = sound_.sm_clock_mhz;
  sample.throttled = sound_.throttled;
  sample.throttle_reasons = sound_.throttle_reasons;
  return sample;
}

}  // namespace wavetune
