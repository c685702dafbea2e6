#include "profiler_agent/power_cap_history.h"

#include <algorithm>

namespace wavetune {
namespace {

// Four steps of an H200's clock (15 of 1,980 MHz); what runs well into the
// limit ends at 1,300-1,700.
constexpr double kNoticeable = 0.97;
constexpr int kTries = 2;

}  // namespace

PowerCapHistory::Load PowerCapHistory::Kernel::At(int level) const {
  if (ClockOf(level).has_value()) return Load::kCapped;
  int tries = 0;
  for (auto it = uncapped_.lower_bound(level); it != uncapped_.end(); ++it) {
    tries += it->second;
  }
  return tries >= kTries ? Load::kLight : Load::kUnknown;
}

std::optional<double> PowerCapHistory::Kernel::ClockOf(int level) const {
  const auto it = capped_mhz_.find(level);
  if (it == capped_mhz_.end()) return std::nullopt;
  return it->second;
}

bool PowerCapHistory::Kernel::IsAboveCapped(int level) const {
  return !capped_mhz_.empty() && capped_mhz_.begin()->first < level;
}

void PowerCapHistory::Kernel::SetCapped(int level, double clock_mhz) {
  capped_mhz_.emplace(level, clock_mhz);
}

bool PowerCapHistory::IsLow(const LaunchTimes& times) {
  highest_clock_mhz_ = std::max(highest_clock_mhz_, times.sm_clock_mhz);
  return times.sm_clock_mhz < kNoticeable * highest_clock_mhz_;
}

}  // namespace wavetune
