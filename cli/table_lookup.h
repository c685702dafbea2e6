// A table as people name it: a digest, its first digits, or a kernel.
#ifndef WAVETUNE_CLI_TABLE_LOOKUP_H_
#define WAVETUNE_CLI_TABLE_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/daemon.h"

namespace wavetune::cli {

struct TableQuestion {
  std::string table;        // Digest, first digits of a serving one, or kernel.
  std::string device;       // UUID, where several classes have tables.
  std::string fingerprint;  // Where several versions of the kernel serve.
};

// Returns the table with a payload that has its digest. Errors: as TableReader;
// FAILED_PRECONDITION for first digits of several; DATA_LOSS for a damaged
// payload.
absl::StatusOr<v1::GetTableResponse> FindTable(TableReader& tables,
                                               const TableQuestion& question);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_TABLE_LOOKUP_H_
