#include "profiler_agent/measure/cool_down.h"

#include <algorithm>
#include <utility>

#include "profiler_agent/measure/stop_wait.h"

namespace wavetune {

CoolDown::CoolDown(Sleep sleep) : sleep_(std::move(sleep)) {
  if (sleep_) return;
  sleep_ = [](Duration duration, const std::stop_token& cancel) {
    SleepOrStop(duration, cancel);
  };
}

void CoolDown::After(bool throttled, const std::stop_token& cancel) {
  if (!throttled) {
    next_ = kFirst;
    return;
  }
  const Duration pause = std::min(next_, left_);
  if (pause <= Duration::zero()) return;
  sleep_(pause, cancel);
  left_ -= pause;
  next_ = std::min(2 * next_, kLongest);
}

}  // namespace wavetune
