// FakeMonotonicClock: sleeping moves the time on at once. Thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_FAKE_MONOTONIC_CLOCK_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_FAKE_MONOTONIC_CLOCK_H_

#include <mutex>
#include <vector>

#include "profiler_agent/measure/monotonic_clock.h"

namespace wavetune {

class FakeMonotonicClock : public MonotonicClock {
 public:
  Duration Now() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  void Sleep(Duration duration) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    now_ += duration;
    sleeps_.push_back(duration);
  }

  // Every Sleep so far, in order.
  std::vector<Duration> sleeps() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sleeps_;
  }

 private:
  mutable std::mutex mutex_;
  Duration now_{0};
  std::vector<Duration> sleeps_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_FAKE_MONOTONIC_CLOCK_H_
