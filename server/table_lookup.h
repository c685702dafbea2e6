// TableLookup: from the names in a request to the table that is meant.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_TABLE_LOOKUP_H_
#define WAVETUNE_SERVER_TABLE_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/agent_directory.h"
#include "server/registry/table_catalog.h"

namespace wavetune {

class TableLookup {
 public:
  // Both outlive the lookup.
  TableLookup(TableCatalog* tables, AgentDirectory* devices)
      : tables_(tables), devices_(devices) {}

  // Returns the table for a kernel on a device. An empty device UUID means the
  // node's only device, where it has just one. Errors: as TableCatalog::Find;
  // NOT_FOUND for an unknown device; INVALID_ARGUMENT without a kernel.
  absl::StatusOr<TableMatch> Find(const std::string& kernel,
                                  const std::string& device_uuid,
                                  const std::string& fingerprint) const;

 private:
  TableCatalog* const tables_;
  AgentDirectory* const devices_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_TABLE_LOOKUP_H_
