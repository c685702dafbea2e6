#include "server/catalog/table_lookup.h"

#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

absl::StatusOr<TableQuery> TableLookup::QueryFor(
    const std::string& kernel, const std::string& device_uuid,
    const std::string& fingerprint) const {
  if (kernel.empty()) {
    return absl::InvalidArgumentError("give a kernel name");
  }
  TableQuery query{.kernel = kernel, .fingerprint = fingerprint};
  if (device_uuid.empty()) {
    query.device = devices_->ImpliedDevice();
  } else {
    ASSIGN_OR_RETURN(query.device, devices_->Facts(device_uuid));
  }
  query.current_fingerprint = [this, kernel,
                               device = query.device]() -> std::string {
    if (!device) return "";
    const auto current = kernels_->Fingerprint(kernel, *device);
    return current.ok() ? *current : "";
  };
  return query;
}

absl::StatusOr<TableMatch> TableLookup::Find(
    const std::string& kernel, const std::string& device_uuid,
    const std::string& fingerprint) const {
  ASSIGN_OR_RETURN(const TableQuery query,
                   QueryFor(kernel, device_uuid, fingerprint));
  ASSIGN_OR_RETURN(TableMatch match, tables_->Find(query));
  const TableRecord& record = match.serving.record;
  match.stale_reason = query.device
                           ? judge_.StaleReasonOn(*query.device, record)
                           : judge_.StaleReason(record);
  return match;
}

std::optional<ServingTable> TableLookup::FindWithdrawn(
    const std::string& kernel, const std::string& device_uuid,
    const std::string& fingerprint) const {
  const absl::StatusOr<TableQuery> query =
      QueryFor(kernel, device_uuid, fingerprint);
  if (!query.ok()) return std::nullopt;
  return tables_->FindWithdrawn(*query);
}

DefaultFaults::Reasons TableLookup::DefaultFaultsOf(
    const ProfileKey& key, const Configuration& default_configuration) const {
  if (default_faults_ == nullptr) return {};
  return default_faults_->Of(key, default_configuration);
}

DefaultFaults::Reasons TableLookup::DefaultFaultsOn(
    const std::string& kernel, const DeviceFacts& device) const {
  if (default_faults_ == nullptr) return {};
  const auto current = kernels_->Get(kernel, device);
  if (!current.ok()) return {};
  return default_faults_->Of({kernel, (*current)->files.fingerprint,
                              SiliconKey(device), EnvironmentKey(device)},
                             (*current)->spec.default_configuration);
}

std::vector<DeviceFacts> TableLookup::Devices(
    const std::string& device_uuid) const {
  return AttachedElseSeen(devices_->List(), [&](const DeviceFacts& device) {
    return device_uuid.empty() || device.uuid == device_uuid;
  });
}

}  // namespace wavetune
