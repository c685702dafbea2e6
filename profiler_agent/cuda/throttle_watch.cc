#include "profiler_agent/cuda/throttle_watch.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace wavetune {
namespace {

constexpr Clock::Duration kInterval = std::chrono::milliseconds(25);

}  // namespace

void ThrottleWatch::Poll() {
  if (!device_.has_value()) return;
  const Clock::Duration now = clock_.SteadyNow();
  if (last_.has_value() && now - *last_ < kInterval) return;
  last_ = now;
  const bool before = throttled();
  reasons_ = device_->ThrottleReasons().value_or(0);
  sm_clock_mhz_ = device_->SmClockMhz().value_or(0);
  if (throttled() == before) return;
  Log(LogLevel::kWarning, "cuda",
      throttled()
          ? absl::StrCat("device ", uuid_, " is throttled (",
                         ThrottleText(reasons_), "; ", sm_clock_mhz_,
                         " MHz): measured again later")
          : absl::StrCat("device ", uuid_, " is not throttled any more"));
}

}  // namespace wavetune
