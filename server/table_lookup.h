// TableLookup: from the names in a request to the table that is meant.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_TABLE_LOOKUP_H_
#define WAVETUNE_SERVER_TABLE_LOOKUP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/agent_directory.h"
#include "server/registry/kernel_catalog.h"
#include "server/registry/table_catalog.h"

namespace wavetune {

class TableLookup {
 public:
  // All outlive the lookup.
  TableLookup(TableCatalog* tables, AgentDirectory* devices,
              KernelCatalog* kernels)
      : tables_(tables), devices_(devices), kernels_(kernels) {}

  // Returns the table for a kernel on a device; an empty device UUID means
  // AgentDirectory::ImpliedDevice, or any device where there is none. An empty
  // fingerprint means the kernel as the catalog has it, or else the table
  // promoted last. Errors: as TableCatalog::Find; NOT_FOUND for an unknown
  // device; INVALID_ARGUMENT without a kernel.
  absl::StatusOr<TableMatch> Find(const std::string& kernel,
                                  const std::string& device_uuid,
                                  const std::string& fingerprint) const;

  // Returns the devices that a request without a table can mean: the one of
  // that UUID, or without a UUID the attached ones, or else all that were ever
  // seen. Empty where there are none.
  std::vector<DeviceFacts> Devices(const std::string& device_uuid) const;

 private:
  TableCatalog* const tables_;
  AgentDirectory* const devices_;
  KernelCatalog* const kernels_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_TABLE_LOOKUP_H_
