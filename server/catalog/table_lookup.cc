#include "server/catalog/table_lookup.h"

#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
                           ? staleness_.StaleReasonOn(*query.device, record)
                           : staleness_.StaleReason(record);
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

absl::StatusOr<std::string> TableLookup::SiliconFor(
    const std::string& kernel, const std::string& device_uuid,
    const std::string& silicon_key) const {
  if (kernel.empty()) return absl::InvalidArgumentError("give a kernel");
  if (!device_uuid.empty() && !silicon_key.empty()) {
    return absl::InvalidArgumentError(
        "give a device or a silicon key, not both");
  }
  if (!silicon_key.empty()) return silicon_key;
  if (!device_uuid.empty()) {
    ASSIGN_OR_RETURN(const DeviceFacts device, devices_->Facts(device_uuid));
    return SiliconKey(device);
  }
  const std::shared_ptr<const TableSnapshot> snapshot = tables_->snapshot();
  std::set<std::string> choices;
  for (const auto* tables : {&snapshot->tables, &snapshot->withdrawn}) {
    for (const ServingTable& table : *tables) {
      if (table.record.key.kernel == kernel)
        choices.insert(table.record.key.silicon_key);
    }
  }
  if (choices.empty()) {
    // Nothing serves, as the last one was refused or retired: where there is a
    // past, then.
    for (const DeviceFacts& device : Devices("")) {
      const std::string silicon = SiliconKey(device);
      const auto rejected = tables_->Rejected(kernel, silicon);
      const auto history = tables_->History(kernel, silicon);
      if ((rejected.ok() && !rejected->empty()) ||
          (history.ok() && !history->empty())) {
        choices.insert(silicon);
      }
    }
  }
  if (choices.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no table of kernel \"", kernel,
        "\" serves, and devices that are here had none: wavetune tables list "
        "shows what serves, and a device says which silicon's past is meant"));
  }
  if (choices.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernel \"", kernel,
                     "\" has tables of several kinds of device; say which by "
                     "a device of it:\n  ",
                     absl::StrJoin(choices, "\n  ")));
  }
  return *choices.begin();
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
