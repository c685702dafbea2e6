// MonotonicClock: time as the agent sees it, so that tests need no real clock
// and never sleep.
//
// Thread safety: all methods are thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_MONOTONIC_CLOCK_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_MONOTONIC_CLOCK_H_

#include <chrono>

namespace wavetune {

class MonotonicClock {
 public:
  using Duration = std::chrono::microseconds;

  virtual ~MonotonicClock() = default;

  // Returns a time that never runs backwards, since an arbitrary start.
  virtual Duration Now() const = 0;

  // Blocks the calling thread for `duration`.
  virtual void Sleep(Duration duration) = 0;
};

// Returns the machine's clock; lives for ever.
MonotonicClock& SteadyClock();

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_MONOTONIC_CLOCK_H_
