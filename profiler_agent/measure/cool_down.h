// CoolDown: pauses between bursts of a throttled device.
//
// A throttled burst is measured again, and without a pause it would be
// throttled again. Pauses are bounded, as a brake from outside (a power supply,
// a cabinet) does not go away by waiting.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_COOL_DOWN_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_COOL_DOWN_H_

#include <chrono>
#include <functional>
#include <stop_token>

namespace wavetune {

class CoolDown {
 public:
  using Duration = std::chrono::milliseconds;
  // Blocks for a time, or until stopped.
  using Sleep = std::function<void(Duration, const std::stop_token&)>;

  // A pause doubles with each throttled burst in a row, from a quarter of a
  // second to four; all together take at most kMost.
  static constexpr Duration kFirst{250};
  static constexpr Duration kLongest{4'000};
  static constexpr Duration kMost{30'000};

  // `sleep` empty: really sleeps.
  explicit CoolDown(Sleep sleep = nullptr);

  // Pauses where the burst was throttled. Returns early when `cancel` is
  // stopped.
  void After(bool throttled, const std::stop_token& cancel);

 private:
  Sleep sleep_;
  Duration next_ = kFirst;
  Duration left_ = kMost;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_COOL_DOWN_H_
