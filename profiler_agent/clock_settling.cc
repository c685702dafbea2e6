#include "profiler_agent/clock_settling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "profiler_agent/agent_log.h"

namespace wavetune {
namespace {

// A burst that reports less cannot keep us waiting for ever.
constexpr double kLeastBurstUs = 100;

bool HasBrokenTime(const LaunchTimes& times) {
  return std::any_of(times.launch_us.begin(), times.launch_us.end(),
                     [](double us) { return !std::isfinite(us) || us <= 0; });
}

}  // namespace

void ClockSettling::Begin(int level) {
  level_ = level;
  load_ = kernel_.At(level);
  of_level_us_ = 0;
  capped_us_ = 0;
}

bool ClockSettling::Counts(const LaunchTimes& times) {
  if (times.sm_clock_mhz == 0 || HasBrokenTime(times)) return true;
  const double us = std::max(times.DeviceTimeUs(), kLeastBurstUs);
  const bool capped = history_.IsCapped(times);
  of_level_us_ += us;
  capped_us_ = capped ? capped_us_ + us : 0;
  switch (load_) {
    case Load::kLight:
      if (!capped) return true;
      // For so long not of what ran before, so of its own.
      if (capped_us_ < kCool) return false;
      LearnCapped(times);
      return true;
    case Load::kUnknown:
      if (of_level_us_ < kTry) return false;
      if (capped_us_ >= kSure) {
        LearnCapped(times);
      } else {
        kernel_.AddUncapped(level_);
        load_ = Load::kLight;
      }
      return true;
    case Load::kCapped:
      if (capped || heat_left_us_ <= 0) return true;
      heat_left_us_ -= us;
      return false;
  }
  return true;
}

void ClockSettling::LearnCapped(const LaunchTimes& times) {
  kernel_.SetCapped(level_);
  load_ = Load::kCapped;
  AgentLog(AgentLogLevel::kInfo,
           absl::StrCat("the power limit holds the clock at ",
                        times.sm_clock_mhz, " MHz from load level ", level_,
                        " on: measured once it does"));
}

}  // namespace wavetune
