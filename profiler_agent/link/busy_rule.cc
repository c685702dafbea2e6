#include "profiler_agent/link/busy_rule.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// An idle GPU says 0; monitoring makes it blink.
constexpr int kBusyPercent = 10;

// What drivers and a desktop keep for themselves stays below.
int64_t LargestIdleBytes(int64_t total_bytes) {
  return (int64_t{2} << 30) + total_bytes / 50;
}

}  // namespace

std::string BusyReason(absl::string_view uuid, const DeviceState& state,
                       bool quiet) {
  const int others = state.other_processes.value_or(0);
  const int percent = quiet ? state.utilisation_percent.value_or(0) : 0;
  const std::string load = absl::StrCat(percent, " % utilisation");
  if (others > 0) {
    return absl::StrCat(uuid, " is used by ", others, " other process",
                        others == 1 ? "" : "es",
                        percent > 0 ? absl::StrCat(", ", load) : "");
  }
  if (percent >= kBusyPercent) {
    return absl::StrCat(uuid, " is used by somebody else: ", load);
  }
  if (quiet && state.own_workers == 0 &&
      state.memory_used_bytes > LargestIdleBytes(state.memory_total_bytes)) {
    return absl::StrCat(
        uuid, " is used by somebody else: ", state.memory_used_bytes >> 20,
        " of ", state.memory_total_bytes >> 20, " MiB of its memory are taken");
  }
  return "";
}

}  // namespace wavetune
