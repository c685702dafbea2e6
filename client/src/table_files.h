// TableFiles: tables that the user brings as files, for processes that have
// neither a daemon nor a cache.
//
// A file is a table's payload (docs/table_format.md); a folder holds any number
// of them as *.table. A table cache is such a folder. Files are read once: what
// changes on disk later changes no decision.
//
// Thread safety: immutable.
#ifndef WAVETUNE_CLIENT_SRC_TABLE_FILES_H_
#define WAVETUNE_CLIENT_SRC_TABLE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/input_file.h"
#include "client/src/table_cache.h"

namespace wavetune {

// Returns the content of a file that is no larger than any table. Errors: as
// ReadInputFile, but DATA_LOSS for a larger one.
absl::StatusOr<std::string> ReadTableFile(const std::string& path,
                                          InputKind kind = InputKind::kFile);

class TableFiles {
 public:
  // No tables.
  TableFiles() = default;

  // Reads a file, or a folder's *.table. Errors: INVALID_ARGUMENT naming the
  // file and what is wrong with it (truncated, damaged, a future version).
  static absl::StatusOr<TableFiles> Read(const std::string& path);

  // Sorted by path.
  const std::vector<FetchedTable>& tables() const { return tables_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<FetchedTable> tables_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TABLE_FILES_H_
