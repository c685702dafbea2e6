#include "base/clock.h"

#include <thread>

namespace wavetune {
namespace {

template <typename StandardClock>
Clock::Duration SinceStart() {
  return std::chrono::duration_cast<Clock::Duration>(
      StandardClock::now().time_since_epoch());
}

class MachineClock : public Clock {
 public:
  int64_t NowUs() const override {
    return SinceStart<std::chrono::system_clock>().count();
  }
  Duration SteadyNow() const override {
    return SinceStart<std::chrono::steady_clock>();
  }
  void Sleep(Duration duration) override {
    std::this_thread::sleep_for(duration);
  }
};

}  // namespace

Clock& SystemClock() {
  static MachineClock* const clock = new MachineClock;
  return *clock;
}

}  // namespace wavetune
