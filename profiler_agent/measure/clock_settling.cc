#include "profiler_agent/measure/clock_settling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace wavetune {

namespace {

// An H200 counts 1,950 MHz while it does next to nothing, 1,780-1,840 at loads
// that NVML says have 1,980, and 1,200-1,650 at the power limit
// (docs/decisions/0012).
constexpr double kLow = 0.85;

}  // namespace

void PowerCapHistory::See(const LaunchTimes& times) {
  highest_clock_mhz_ = std::max(highest_clock_mhz_, times.sm_clock_mhz);
}

bool PowerCapHistory::IsLow(double clock_mhz) const {
  return clock_mhz < kLow * highest_clock_mhz_;
}

namespace {

// A burst that reports less cannot keep us waiting for ever.
constexpr double kLeastBurstUs = 100;
// How long the mean clock remembers.
constexpr double kMemoryUs = 30e3;
// Bursts more than 20 % above the level's clock do not count, because
// memory-bound time does not scale with the clock.
constexpr double kFarAbove = 1.2;

bool HasBrokenTime(const LaunchTimes& times) {
  return std::any_of(times.launch_us.begin(), times.launch_us.end(),
                     [](double us) { return !std::isfinite(us) || us <= 0; });
}

}  // namespace

void ClockSettling::Begin(int level) {
  level_ = level;
  clock_mhz_ = 0;
  tried_us_ = 0;
  recent_mhz_ = 0;
  low_us_ = 0;
  state_ = State::kUnknown;
  const auto known = levels_.find(level);
  if (known == levels_.end()) return;
  clock_mhz_ = known->second.clock_mhz;
  state_ = known->second.capped ? State::kCapped : State::kLight;
}

void ClockSettling::AddTry(const LaunchTimes& times) {
  if (times.sm_clock_mhz == 0 || HasBrokenTime(times)) return EndTry();
  const double us = std::max(times.DeviceTimeUs(), kLeastBurstUs);
  history_.See(times);
  const double fades = recent_mhz_ > 0 ? -std::expm1(-us / kMemoryUs) : 1;
  recent_mhz_ += fades * (times.sm_clock_mhz - recent_mhz_);
  tried_us_ += us;
  if (tried_us_ >= kTry) Learn(recent_mhz_, history_.IsLow(recent_mhz_));
}

bool ClockSettling::Counts(const LaunchTimes& times) {
  if (times.sm_clock_mhz == 0 || HasBrokenTime(times)) return true;
  const double us = std::max(times.DeviceTimeUs(), kLeastBurstUs);
  history_.See(times);
  if (state_ == State::kUnknown) return false;
  if (state_ == State::kCapped) {
    if (times.sm_clock_mhz <= kFarAbove * clock_mhz_ || heat_left_us_ <= 0) {
      return true;
    }
    heat_left_us_ -= us;
    return false;
  }
  if (!history_.IsLow(times.sm_clock_mhz)) {
    low_us_ = 0;
    return true;
  }
  low_us_ += us;
  if (low_us_ < kCool) return false;
  // For so long not of what ran before, so of its own.
  if (clock_mhz_ > 0) Learn(clock_mhz_, true);
  return true;
}

LaunchTimes ClockSettling::AtClockOfLevel(LaunchTimes times) const {
  if (state_ != State::kCapped || times.sm_clock_mhz == 0) return times;
  for (double& us : times.launch_us) us *= times.sm_clock_mhz / clock_mhz_;
  times.sm_clock_mhz = static_cast<int32_t>(std::lround(clock_mhz_));
  return times;
}

void ClockSettling::Learn(double clock_mhz, bool capped) {
  clock_mhz_ = clock_mhz;
  state_ = capped ? State::kCapped : State::kLight;
  levels_[level_] = {.clock_mhz = clock_mhz, .capped = capped};
  if (!capped) return;
  Log(LogLevel::kInfo, "measure",
      absl::StrCat("the power limit holds load level ", level_, " at ",
                   std::lround(clock_mhz),
                   " MHz: its latencies are taken to that clock"));
}

}  // namespace wavetune
