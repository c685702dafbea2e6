#include "base/service_notify.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

constexpr size_t kMostStateBytes = 512;

void TellManager(const std::string& assignments) {
  ::sd_notify(/*unset_environment=*/0, assignments.c_str());
}

// A line: what follows a line's end would be another assignment.
std::string StateLine(absl::string_view state) {
  std::string line = absl::StrCat(
      "STATUS=", ShortenedText(PrintableText(state), kMostStateBytes));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

void NotifyReady(absl::string_view state) {
  TellManager(absl::StrCat("READY=1\n", StateLine(state)));
}

void NotifyReloading() { TellManager("RELOADING=1"); }

void NotifyStopping() { TellManager("STOPPING=1"); }

void NotifyState(absl::string_view state) { TellManager(StateLine(state)); }

void NotifyAlive() { TellManager("WATCHDOG=1"); }

}  // namespace wavetune
