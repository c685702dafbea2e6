// DriverWatch: notices that a device is another one than was listed (another
// driver, runtime or compiler), or that there is a new one, while an agent is
// attached.
//
//   DriverWatch watch({.mark = ..., .list = ...}, listed, mark, SystemClock());
//   while (!SleepOrStop(DriverWatch::kInterval, stop)) {
//     const std::string change = watch.Look();
//     if (!change.empty()) ...  // List the devices, attach again.
//   }
//
// Listing devices costs a process that loads the drivers. So it happens only
// where their mark has changed (driver_mark.h), a device is lost or an error
// cut the last list short, and ever more seldom while that shows nothing. In
// the middle of an upgrade there are no devices, or fewer: those that are
// missing are waited for.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_DRIVER_WATCH_H_
#define WAVETUNE_PROFILER_AGENT_LINK_DRIVER_WATCH_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/kernel/device.h"
#include "profiler_agent/link/agent_devices.h"

namespace wavetune {

struct DriverWatchOptions {
  std::function<std::string()> mark;
  // In fresh processes, as one keeps the driver that it loaded.
  std::function<DeviceList()> list;
  std::function<bool()> any_lost = [] { return false; };
  // Called where the mark has changed, before anything is listed: drivers that
  // nobody needs now are let go, or an upgrade would wait for them.
  std::function<void()> let_go = [] {};
};

class DriverWatch {
 public:
  // Between two looks.
  static constexpr std::chrono::seconds kInterval{2};
  // Between two lists: the first and the longest pause.
  static constexpr std::chrono::seconds kFirstPause{5};
  static constexpr std::chrono::seconds kLongestPause{30};
  // A device that is missing for so long is gone: others may be new.
  static constexpr std::chrono::seconds kMissing{60};

  // `listed`: the devices as the daemon knows them; `mark` as it was before
  // they were listed. `clock` outlives it.
  DriverWatch(DriverWatchOptions options, DeviceList listed, std::string mark,
              const Clock& clock);

  // Returns the change ("GPU-1 has driver 590.12, it had 580.1"), or an empty
  // string. Blocks while devices are listed. Cannot fail.
  std::string Look();

 private:
  // Whether devices are to be listed now.
  bool Due();
  std::string Compare(const DeviceList& found);

  const DriverWatchOptions options_;
  const std::vector<DeviceFacts> listed_;
  const Clock& clock_;
  std::string mark_;
  // What the last mark means is not known yet, or the last list was not whole.
  bool wanted_ = false;
  std::optional<Clock::Duration> last_list_;
  Clock::Duration pause_ = kFirstPause;
  std::optional<Clock::Duration> missing_since_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_DRIVER_WATCH_H_
