#include "server/table_lookup.h"

#include "model/status_macros.h"

namespace wavetune {

absl::StatusOr<TableMatch> TableLookup::Find(
    const std::string& kernel, const std::string& device_uuid,
    const std::string& fingerprint) const {
  if (kernel.empty()) {
    return absl::InvalidArgumentError("give a kernel name");
  }
  TableQuery query{.kernel = kernel, .fingerprint = fingerprint};
  query.current_fingerprint = [&]() -> std::string {
    if (!query.device) return "";
    const auto current = kernels_->Get(kernel, *query.device);
    return current.ok() ? (*current)->files.fingerprint : "";
  };
  if (!device_uuid.empty()) {
    ASSIGN_OR_RETURN(query.device, devices_->Facts(device_uuid));
    return tables_->Find(query);
  }
  query.device = devices_->ImpliedDevice();
  return tables_->Find(query);
}

std::vector<DeviceFacts> TableLookup::Devices(
    const std::string& device_uuid) const {
  std::vector<DeviceFacts> attached;
  std::vector<DeviceFacts> seen;
  for (const AgentDirectory::Known& known : devices_->List()) {
    const DeviceFacts& facts = known.record.facts;
    if (!device_uuid.empty() && facts.uuid != device_uuid) continue;
    seen.push_back(facts);
    if (known.attached) attached.push_back(facts);
  }
  return attached.empty() ? seen : attached;
}

}  // namespace wavetune
