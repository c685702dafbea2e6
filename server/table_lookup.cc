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
  if (!device_uuid.empty()) {
    ASSIGN_OR_RETURN(query.device, devices_->Facts(device_uuid));
    return tables_->Find(query);
  }
  query.device = devices_->TheOnlyDevice();
  absl::StatusOr<TableMatch> match = tables_->Find(query);
  // Nobody named the device: a table of another one is still an answer.
  if (absl::IsNotFound(match.status()) && query.device) {
    query.device.reset();
    return tables_->Find(query);
  }
  return match;
}

}  // namespace wavetune
