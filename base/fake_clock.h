// FakeClock: stands still until told otherwise; sleeping moves it on at once.
// Thread-safe.
#ifndef WAVETUNE_BASE_FAKE_CLOCK_H_
#define WAVETUNE_BASE_FAKE_CLOCK_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace wavetune {

class FakeClock : public Clock {
 public:
  int64_t NowUs() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_us_;
  }
  Duration SteadyNow() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return steady_;
  }
  void Sleep(Duration duration) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Move(duration);
    sleeps_.push_back(duration);
  }

  // A negative number sets the time of day back, as an operator might.
  void Advance(double seconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Move(Duration(static_cast<int64_t>(seconds * 1e6)));
  }
  // Every Sleep so far, in order.
  std::vector<Duration> sleeps() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sleeps_;
  }

 private:
  // Holds mutex_.
  void Move(Duration duration) {
    now_us_ += duration.count();
    if (duration > Duration(0)) steady_ += duration;
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  int64_t now_us_ = 1'700'000'000'000'000;
  Duration steady_{0};
  std::vector<Duration> sleeps_;
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_FAKE_CLOCK_H_
