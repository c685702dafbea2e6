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

ReplayBackend::ReplayBackend(Options options) : options_(std::move(options)) {}

std::string ReplayBackend::CopyUuid(const std::string& device_uuid, int copy) {
  return copy == 1 ? device_uuid : absl::StrCat(device_uuid, "-b", copy);
}

absl::StatusOr<std::vector<DeviceFacts>> ReplayBackend::DevicesOf(
    const std::string& folder) const {
  ASSIGN_OR_RETURN(const DeviceFacts facts, FactsOf(folder));
  std::vector<DeviceFacts> devices;
  for (int copy = 1; copy <= std::max(options_.devices, 1); ++copy) {
    devices.push_back(facts);
    devices.back().uuid = CopyUuid(facts.uuid, copy);
  }
  return devices;
}

Backend::Enumeration ReplayBackend::Enumerate() {
  Enumeration found;
  if (options_.folders.empty()) {
    found.note = "no trace was given; name its folder with --replay-trace";
  }
  for (const std::string& folder : options_.folders) {
    const absl::StatusOr<std::vector<DeviceFacts>> devices = DevicesOf(folder);
    if (!devices.ok()) {
      absl::StrAppend(&found.note, folder, ": ", devices.status().message());
      continue;
    }
    for (const DeviceFacts& facts : *devices) {
      const bool known = std::any_of(
          found.devices.begin(), found.devices.end(),
          [&](const DeviceFacts& other) { return other.uuid == facts.uuid; });
      if (!known) found.devices.push_back(facts);
    }
  }
  return found;
}

absl::StatusOr<std::unique_ptr<Device>> ReplayBackend::Open(
    const std::string& device_uuid, const std::string& /*cache_dir*/) {
  ReplayDevice::Options opened{.judged = options_.judged,
                               .pace = options_.pace};
  DeviceFacts facts;
  for (const std::string& folder : options_.folders) {
    const absl::StatusOr<std::vector<DeviceFacts>> devices = DevicesOf(folder);
    if (!devices.ok()) continue;
    for (const DeviceFacts& device : *devices) {
      if (device.uuid != device_uuid) continue;
      if (opened.folders.empty()) facts = device;
      opened.folders.push_back(folder);
    }
  }
  if (opened.folders.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no trace was recorded on a device ", device_uuid));
  }
  return std::make_unique<ReplayDevice>(std::move(facts), std::move(opened));
}

}  // namespace wavetune
