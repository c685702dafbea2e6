#include "profiler_agent/clock_settling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/throttling.h"
#include "profiler_agent/agent_log.h"

namespace wavetune {
namespace {

// The driver names the power limit already where the clock stands one step (15
// of 1,980 MHz) below its highest; loads well above it end at 1,400-1,700.
constexpr double kNoticeable = 0.93;
// Tries of a level, or of higher ones, until it counts as light: a batch may
// hold slow candidates only.
constexpr int kTries = 2;
// A burst that reports less cannot keep us waiting for ever.
constexpr double kLeastBurstUs = 100;

double DeviceTimeUs(const LaunchTimes& times) {
  double sum = std::max(0.0, times.warmup_us);
  for (const double us : times.launch_us) {
    sum += us * std::max(1, times.launches_per_timing);
  }
  return std::max(sum, kLeastBurstUs);
}

bool IsLight(const PowerCapHistory::Kernel& kernel, int level) {
  for (auto it = kernel.uncapped.lower_bound(level);
       it != kernel.uncapped.end(); ++it) {
    if (it->second >= kTries) return true;
  }
  return false;
}

}  // namespace

bool PowerCapHistory::IsCapped(const LaunchTimes& times) {
  highest_clock_mhz_ = std::max(highest_clock_mhz_, times.sm_clock_mhz);
  return (times.throttle_reasons & kPowerCap) != 0 &&
         times.sm_clock_mhz < kNoticeable * highest_clock_mhz_;
}

void ClockSettling::Begin(int level) {
  level_ = level;
  of_level_us_ = 0;
  capped_us_ = 0;
  kind_ = Kind::kUnknown;
  if (kernel_.lowest_capped.has_value() && level >= *kernel_.lowest_capped) {
    kind_ = Kind::kCapped;
  } else if (IsLight(kernel_, level)) {
    kind_ = Kind::kLight;
  }
}

bool ClockSettling::Counts(const LaunchTimes& times) {
  if (times.sm_clock_mhz == 0) return true;
  const double us = DeviceTimeUs(times);
  if (!std::isfinite(us)) return true;  // For the measurement to refuse.
  const bool capped = history_.IsCapped(times);
  of_level_us_ += us;
  capped_us_ = capped ? capped_us_ + us : 0;
  if (kind_ == Kind::kLight) {
    if (!capped) return true;
    // For so long not of what ran before, so of its own.
    if (capped_us_ < kCool) return false;
    LearnCapped(times);
    return true;
  }
  if (kind_ == Kind::kUnknown) {
    if (of_level_us_ < kTry) return false;
    if (capped) {
      LearnCapped(times);
    } else {
      ++kernel_.uncapped[level_];
      kind_ = Kind::kLight;
    }
    return true;
  }
  if (capped || heat_left_us_ <= 0) return true;
  heat_left_us_ -= us;
  return false;
}

void ClockSettling::LearnCapped(const LaunchTimes& times) {
  kernel_.lowest_capped = level_;
  kernel_.uncapped.erase(kernel_.uncapped.lower_bound(level_),
                         kernel_.uncapped.end());
  kind_ = Kind::kCapped;
  AgentLog(AgentLogLevel::kInfo,
           absl::StrCat("the power limit holds the clock at ",
                        times.sm_clock_mhz, " MHz from load level ", level_,
                        " on: measured once it does"));
}

}  // namespace wavetune
