#include "profiler_agent/replay/replay_backend.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "formats/kernel_folder.h"
#include "profiler_agent/replay/replay_device.h"

namespace wavetune {
namespace {

absl::StatusOr<DeviceFacts> FactsOf(const std::string& folder) {
  ASSIGN_OR_RETURN(DeviceFacts facts,
                   LoadDeviceFacts(absl::StrCat(folder, "/device.textproto")));
  facts.backend = "replay";
  return facts;
}

}  // namespace

ReplayBackend::ReplayBackend(std::vector<std::string> folders, bool judged)
    : folders_(std::move(folders)), judged_(judged) {}

Backend::Enumeration ReplayBackend::Enumerate() {
  Enumeration found;
  if (folders_.empty()) {
    found.note = "no trace was given; name its folder with --replay-trace";
  }
  for (const std::string& folder : folders_) {
    const absl::StatusOr<DeviceFacts> facts = FactsOf(folder);
    if (!facts.ok()) {
      absl::StrAppend(&found.note, folder, ": ", facts.status().message());
      continue;
    }
    const bool known = std::any_of(
        found.devices.begin(), found.devices.end(),
        [&](const DeviceFacts& other) { return other.uuid == facts->uuid; });
    if (!known) found.devices.push_back(*facts);
  }
  return found;
}

absl::StatusOr<std::unique_ptr<Device>> ReplayBackend::Open(
    const std::string& device_uuid, const std::string& /*cache_dir*/) {
  std::vector<std::string> of_device;
  DeviceFacts facts;
  for (const std::string& folder : folders_) {
    absl::StatusOr<DeviceFacts> found = FactsOf(folder);
    if (!found.ok() || found->uuid != device_uuid) continue;
    if (of_device.empty()) facts = *std::move(found);
    of_device.push_back(folder);
  }
  if (of_device.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no trace was recorded on a device ", device_uuid));
  }
  return std::make_unique<ReplayDevice>(std::move(facts), std::move(of_device),
                                        judged_);
}

}  // namespace wavetune
