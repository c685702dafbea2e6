#include "profiler_agent/clock_settling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "profiler_agent/agent_log.h"

namespace wavetune {
namespace {

// A burst that reports less cannot keep us waiting for ever.
constexpr double kLeastBurstUs = 100;
// How long the mean clock remembers.
constexpr double kMemoryUs = 50e3;
// A burst this near to its level's clock counts: what of it does not go with
// the clock, a tenth or less, then errs by two per cent or less, and by less
// between candidates that are alike.
constexpr double kNear = 0.2;

bool HasBrokenTime(const LaunchTimes& times) {
  return std::any_of(times.launch_us.begin(), times.launch_us.end(),
                     [](double us) { return !std::isfinite(us) || us <= 0; });
}

}  // namespace

void ClockSettling::Begin(int level) {
  level_ = level;
  load_ = kernel_.At(level);
  of_level_us_ = 0;
  low_us_ = 0;
  recent_mhz_ = 0;
}

bool ClockSettling::Counts(const LaunchTimes& times) {
  if (times.sm_clock_mhz == 0 || HasBrokenTime(times)) return true;
  const double us = std::max(times.DeviceTimeUs(), kLeastBurstUs);
  of_level_us_ += us;
  low_us_ = history_.IsLow(times) ? low_us_ + us : 0;
  const double fades = recent_mhz_ > 0 ? -std::expm1(-us / kMemoryUs) : 1;
  recent_mhz_ += fades * (times.sm_clock_mhz - recent_mhz_);
  switch (load_) {
    case Load::kLight:
      if (low_us_ == 0) return true;
      // For so long not of what ran before, so of its own.
      if (low_us_ < kCool) return false;
      // Its earlier samples are of the full clock.
      LearnCapped(history_.highest_clock_mhz());
      return true;
    case Load::kUnknown:
      if (of_level_us_ < kTry) return false;
      if (low_us_ >= kSure || kernel_.IsAboveCapped(level_)) {
        LearnCapped(recent_mhz_);
      } else {
        kernel_.AddUncapped(level_);
        load_ = Load::kLight;
      }
      return true;
    case Load::kCapped:
      if (std::abs(times.sm_clock_mhz / *kernel_.ClockOf(level_) - 1) <=
              kNear ||
          heat_left_us_ <= 0) {
        return true;
      }
      heat_left_us_ -= us;
      return false;
  }
  return true;
}

LaunchTimes ClockSettling::AtClockOfLevel(LaunchTimes times) const {
  if (load_ != Load::kCapped || times.sm_clock_mhz == 0) return times;
  const double level_mhz = *kernel_.ClockOf(level_);
  const double longer = times.sm_clock_mhz / level_mhz;
  for (double& us : times.launch_us) us *= longer;
  times.sm_clock_mhz = static_cast<int32_t>(std::lround(level_mhz));
  return times;
}

void ClockSettling::LearnCapped(double clock_mhz) {
  kernel_.SetCapped(level_, clock_mhz);
  load_ = Load::kCapped;
  AgentLog(AgentLogLevel::kInfo,
           absl::StrCat("the power limit holds load level ", level_, " at ",
                        std::lround(recent_mhz_),
                        " MHz: its latencies are taken to ",
                        std::lround(clock_mhz), " MHz"));
}

}  // namespace wavetune
