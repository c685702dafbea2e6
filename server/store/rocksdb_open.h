// The checks before a store is opened for writing, so that every refusal is
// clear and changes nothing.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_OPEN_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_OPEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace wavetune {

// Names in family meta.
inline constexpr absl::string_view kSchemaVersionName = "schema_version";
inline constexpr absl::string_view kStoreIdName = "store_id";

// Makes the directory; checks that no other process has the store open, and
// that its schema version is at most `schema_version`. No file and no change
// that the store's record (StoreRecord) knows may be missing. Errors: as
// RocksDbDatabase::Open.
absl::Status PrepareToOpen(const std::string& path, int schema_version,
                           rocksdb::Env* env);

// Returns what an error of opening the store at `path` means. Cannot fail.
absl::Status OpenError(const rocksdb::Status& status, const std::string& path,
                       rocksdb::Env* env);

// DATA_LOSS: what is wrong, and how to go on.
absl::Status DamagedStore(const std::string& path, absl::string_view what);

// FAILED_PRECONDITION: the store's schema version is above ours.
absl::Status NewerStore(const std::string& path, int stored, int known);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_OPEN_H_
