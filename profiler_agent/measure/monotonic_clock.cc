#include "profiler_agent/measure/monotonic_clock.h"

#include <thread>

namespace wavetune {
namespace {

class RealClock : public MonotonicClock {
 public:
  Duration Now() const override {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
  }
  void Sleep(Duration duration) override {
    std::this_thread::sleep_for(duration);
  }
};

}  // namespace

MonotonicClock& SteadyClock() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace wavetune
