#include "profiler_agent/power_cap_history.h"

#include <algorithm>

#include "model/throttling.h"

namespace wavetune {
namespace {

// The driver names the power limit already where the clock stands one step (15
// of 1,980 MHz) below its highest; loads well above it end at 1,400-1,700
// (H200, driver 580).
constexpr double kNoticeable = 0.93;
constexpr int kTries = 2;

}  // namespace

PowerCapHistory::Load PowerCapHistory::Kernel::At(int level) const {
  if (lowest_capped_.has_value() && level >= *lowest_capped_) {
    return Load::kCapped;
  }
  int tries = 0;
  for (auto it = uncapped_.lower_bound(level); it != uncapped_.end(); ++it) {
    tries += it->second;
  }
  return tries >= kTries ? Load::kLight : Load::kUnknown;
}

void PowerCapHistory::Kernel::SetCapped(int level) {
  lowest_capped_ = std::min(level, lowest_capped_.value_or(level));
  uncapped_.erase(uncapped_.lower_bound(level), uncapped_.end());
}

bool PowerCapHistory::IsCapped(const LaunchTimes& times) {
  highest_clock_mhz_ = std::max(highest_clock_mhz_, times.sm_clock_mhz);
  return (times.throttle_reasons & kPowerCap) != 0 &&
         times.sm_clock_mhz < kNoticeable * highest_clock_mhz_;
}

}  // namespace wavetune
