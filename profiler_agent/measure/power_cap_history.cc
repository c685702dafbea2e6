#include "profiler_agent/measure/power_cap_history.h"

#include <algorithm>

namespace wavetune {
namespace {

// An H200 counts 1,950 MHz while it does next to nothing, 1,780-1,840 at loads
// that NVML says have 1,980, and 1,200-1,650 at the power limit.
constexpr double kLow = 0.85;

}  // namespace

void PowerCapHistory::See(const LaunchTimes& times) {
  highest_clock_mhz_ = std::max(highest_clock_mhz_, times.sm_clock_mhz);
}

bool PowerCapHistory::IsLow(double clock_mhz) const {
  return clock_mhz < kLow * highest_clock_mhz_;
}

}  // namespace wavetune
