#include "profiler_agent/link/driver_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "profiler_agent/worker/remote_device.h"

namespace wavetune {
namespace {

const DeviceFacts* FindDevice(const std::vector<DeviceFacts>& devices,
                              const std::string& uuid) {
  const auto it =
      std::find_if(devices.begin(), devices.end(),
                   [&uuid](const DeviceFacts& d) { return d.uuid == uuid; });
  return it == devices.end() ? nullptr : &*it;
}

// Says the first thing that differs.
std::string Difference(const DeviceFacts& now, const DeviceFacts& before) {
  const auto says = [&now](absl::string_view what, absl::string_view is,
                           absl::string_view was) {
    return absl::StrCat(now.uuid, " has ", what, " ", is, ", it had ", was);
  };
  if (now.driver != before.driver)
    return says("driver", now.driver, before.driver);
  if (now.runtime != before.runtime)
    return says("runtime", now.runtime, before.runtime);
  if (now.compiler != before.compiler)
    return says("compiler", now.compiler, before.compiler);
  if (now.triton != before.triton) {
    return says("Triton", now.triton.empty() ? "none" : now.triton,
                before.triton.empty() ? "none" : before.triton);
  }
  return absl::StrCat(now.uuid, " is ", SiliconKey(now), ", it was ",
                      SiliconKey(before));
}

}  // namespace

DriverWatch::DriverWatch(DriverWatchOptions options, DeviceList listed,
                         std::string mark, const Clock& clock)
    : options_(std::move(options)),
      listed_(std::move(listed.devices)),
      clock_(clock),
      mark_(std::move(mark)),
      wanted_(listed.cut_short) {}

std::string DriverWatch::Look() {
  if (!Due()) return "";
  const DeviceList found = options_.list();
  last_list_ = clock_.SteadyNow();
  return Compare(found);
}

bool DriverWatch::Due() {
  std::string mark = options_.mark();
  if (mark != mark_) {
    mark_ = std::move(mark);
    wanted_ = true;
    options_.let_go();
  }
  if (!wanted_ && !options_.any_lost()) return false;
  if (!last_list_.has_value()) return true;
  const Clock::Duration since = clock_.SteadyNow() - *last_list_;
  if (since < pause_) return false;
  pause_ = since > 2 * kLongestPause
               ? Clock::Duration(kFirstPause)
               : std::min(2 * pause_, Clock::Duration(kLongestPause));
  return true;
}

std::string DriverWatch::Compare(const DeviceList& found) {
  bool missing = false;
  for (const DeviceFacts& before : listed_) {
    const DeviceFacts* const now = FindDevice(found.devices, before.uuid);
    if (now == nullptr) {
      missing = true;
    } else if (!SameDevice(*now, before)) {
      return Difference(*now, before);
    }
  }
  if (!missing) {
    missing_since_.reset();
    wanted_ = found.cut_short;
  } else {
    if (!missing_since_.has_value()) missing_since_ = clock_.SteadyNow();
    if (clock_.SteadyNow() - *missing_since_ < kMissing) return "";
  }
  for (const DeviceFacts& now : found.devices) {
    if (FindDevice(listed_, now.uuid) == nullptr) {
      return absl::StrCat(now.uuid, " is there, and was not");
    }
  }
  return "";
}

}  // namespace wavetune
