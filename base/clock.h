// Clock: the time of day, so that tests decide what it is; and the time that
// never steps.
#ifndef WAVETUNE_BASE_CLOCK_H_
#define WAVETUNE_BASE_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace wavetune {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns microseconds since the Unix epoch.
  virtual int64_t NowUs() = 0;
};

class SystemClock : public Clock {
 public:
  int64_t NowUs() override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

// Stands still until told otherwise.
class FakeClock : public Clock {
 public:
  int64_t NowUs() override { return now_us_.load(); }
  void Advance(double seconds) {
    now_us_.fetch_add(static_cast<int64_t>(seconds * 1e6));
  }

 private:
  std::atomic<int64_t> now_us_{1'700'000'000'000'000};
};

// Returns microseconds since some moment, by a clock that nobody sets.
// Thread-safe.
inline int64_t SteadyNowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace wavetune

#endif  // WAVETUNE_BASE_CLOCK_H_
