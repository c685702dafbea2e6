// ThrottleEpisode: what a log says of a device whose clocks are held down.
//
// A device with bad cooling goes in and out of throttling many times a second.
// One line says that it began, one each ten minutes that it lasts, and one sums
// it up: the bursts, the time, the reasons, and the lowest clock.
//
//   std::string line = episode.After(times, clock.SteadyNow());
//   if (!line.empty()) Log(LogLevel::kWarning, "device", line);
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_THROTTLE_EPISODE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_THROTTLE_EPISODE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

class ThrottleEpisode {
 public:
  // It has ended where no burst was throttled for so long: as long as a batch's
  // pauses together (cool_down.h).
  static constexpr std::chrono::seconds kQuiet{30};
  // Between two lines while it lasts.
  static constexpr std::chrono::minutes kReminder{10};

  // `uuid` of the device.
  explicit ThrottleEpisode(std::string uuid) : uuid_(std::move(uuid)) {}

  // Takes a burst that has just ended; returns the line to log, empty: none.
  // Cannot fail.
  std::string After(const LaunchTimes& burst, Clock::Duration now);

  // Ends the episode, as nothing is measured any more; returns its sum, or an
  // empty string where none lasts. Cannot fail.
  std::string End(Clock::Duration now);

 private:
  bool lasts() const { return throttled_ > 0; }
  void Count(const LaunchTimes& burst, Clock::Duration now);
  // "in 1,015 of 1,200 bursts within 240 s (...; down to 990 MHz)"
  std::string Sum(Clock::Duration until) const;
  // "hardware thermal slowdown; down to 990 MHz"
  std::string Why() const;

  const std::string uuid_;
  // The episode's; none lasts where `throttled_` is 0.
  int64_t throttled_ = 0;
  int64_t bursts_ = 0;  // Up to the last throttled one.
  int64_t bursts_since_ = 0;
  uint32_t reasons_ = 0;
  int32_t lowest_mhz_ = 0;  // 0: not known.
  Clock::Duration begin_{};
  Clock::Duration last_{};  // The last throttled burst's.
  Clock::Duration said_{};
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_THROTTLE_EPISODE_H_
