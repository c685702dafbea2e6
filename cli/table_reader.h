// TableReader: the tables that the daemon serves, as the command line reads
// them.
#ifndef WAVETUNE_CLI_TABLE_READER_H_
#define WAVETUNE_CLI_TABLE_READER_H_

#include "absl/status/statusor.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune::cli {

// Errors: as StatusReader.
class TableReader {
 public:
  virtual ~TableReader() = default;
  virtual absl::StatusOr<v1::ListTablesResponse> ListTables(
      const v1::ListTablesRequest& request) = 0;
  virtual absl::StatusOr<v1::GetTableResponse> GetTable(
      const v1::GetTableRequest& request) = 0;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_TABLE_READER_H_
