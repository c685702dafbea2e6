// TableLookup: from the names in a request to the table that is meant.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_LOOKUP_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_LOOKUP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/default_faults.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/node_staleness.h"
#include "server/catalog/table_catalog.h"

namespace wavetune {

class TableLookup {
 public:
  // All outlive the lookup. `default_faults` may be nullptr: then no default
  // is known not to work.
  TableLookup(TableCatalog* tables, AgentDirectory* devices,
              KernelCatalog* kernels, DefaultFaults* default_faults)
      : tables_(tables),
        devices_(devices),
        kernels_(kernels),
        default_faults_(default_faults),
        staleness_(devices, kernels) {}

  // Returns the table for a kernel on a device; an empty device UUID means
  // AgentDirectory::ImpliedDevice, or any device where there is none. An empty
  // fingerprint means the kernel as the catalog has it, or else the table
  // promoted last. The match is stale where the device, or the kernel as the
  // catalog has it, differs from the table's; also where it was asked for by
  // fingerprint. Errors: as TableCatalog::Find; NOT_FOUND for an unknown
  // device; INVALID_ARGUMENT without a kernel.
  absl::StatusOr<TableMatch> Find(const std::string& kernel,
                                  const std::string& device_uuid,
                                  const std::string& fingerprint) const;

  // Returns what Find would return, had it not been withdrawn; nothing where
  // that is not why it finds nothing.
  std::optional<ServingTable> FindWithdrawn(
      const std::string& kernel, const std::string& device_uuid,
      const std::string& fingerprint) const;

  // Resolves the silicon of a request: the given key, else the device's, else
  // the only one that the kernel has tables for. Where none serves, it is that
  // of a device here on which one did, or was rejected. Errors:
  // INVALID_ARGUMENT without a kernel, or with both; NOT_FOUND for an unknown
  // device, and where the kernel has no table; FAILED_PRECONDITION listing the
  // choices where its tables differ in silicon.
  absl::StatusOr<std::string> SiliconFor(const std::string& kernel,
                                         const std::string& device_uuid,
                                         const std::string& silicon_key) const;

  // Return why a default does not work: of a table's class; of a kernel on a
  // device, as both are now. Nothing where it does or nobody has checked.
  DefaultFaults::Reasons DefaultFaultsOf(
      const ProfileKey& key, const Configuration& default_configuration) const;
  DefaultFaults::Reasons DefaultFaultsOn(const std::string& kernel,
                                         const DeviceFacts& device) const;

  // Returns the devices that a request without a table can mean: the one of
  // that UUID, or without a UUID the attached ones, or else all that were ever
  // seen. Empty where there are none.
  std::vector<DeviceFacts> Devices(const std::string& device_uuid) const;

 private:
  // Returns the query that the names mean. Errors: as Find, but for the
  // catalogue's.
  absl::StatusOr<TableQuery> QueryFor(const std::string& kernel,
                                      const std::string& device_uuid,
                                      const std::string& fingerprint) const;

  TableCatalog* const tables_;
  AgentDirectory* const devices_;
  KernelCatalog* const kernels_;
  DefaultFaults* const default_faults_;
  const NodeStaleness staleness_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_LOOKUP_H_
