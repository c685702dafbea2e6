#include "profiler_agent/cuda/throttle_watch.h"

#include <chrono>

namespace wavetune {
namespace {

constexpr Clock::Duration kInterval = std::chrono::milliseconds(25);

}  // namespace

void ThrottleWatch::Poll() {
  if (!device_.has_value()) return;
  const Clock::Duration now = clock_.SteadyNow();
  if (last_.has_value() && now - *last_ < kInterval) return;
  last_ = now;
  reasons_ = device_->ThrottleReasons().value_or(0);
  sm_clock_mhz_ = device_->SmClockMhz().value_or(0);
}

}  // namespace wavetune
