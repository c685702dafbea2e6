// Clock: the time of day, the time that never steps, and sleep, so that tests
// decide all three.
//
//   const Clock::Duration begin = SystemClock().SteadyNow();
//
// Who keeps, compares or shows a time asks a Clock. std::chrono's own clocks
// are for deadlines that the standard library or gRPC takes, as wait_until.
#ifndef WAVETUNE_BASE_CLOCK_H_
#define WAVETUNE_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace wavetune {

// Thread-safe.
class Clock {
 public:
  using Duration = std::chrono::microseconds;

  virtual ~Clock() = default;

  // Returns the time of day: microseconds since the Unix epoch. Whoever sets
  // the machine's clock makes it step.
  virtual int64_t NowUs() const = 0;

  // Returns a time that never runs backwards, since an arbitrary start.
  virtual Duration SteadyNow() const = 0;

  // Blocks the calling thread for `duration`.
  virtual void Sleep(Duration duration) = 0;
};

// Returns the machine's clock; lives for ever.
Clock& SystemClock();

// Returns `duration` in seconds.
inline double ToSeconds(Clock::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace wavetune

#endif  // WAVETUNE_BASE_CLOCK_H_
