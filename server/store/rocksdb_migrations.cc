#include "server/store/rocksdb_migrations.h"

#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_records.h"

namespace wavetune {
namespace {

// Schema 2 has a history of promotions. What serves and what is withdrawn is
// all that schema 1 knows of it, so that a rollback has where to begin.
absl::Status BeginHistory(RocksDbDatabase& database, StoreBatch& batch) {
  for (const absl::string_view prefix : {kServingPrefix, kWithdrawnPrefix}) {
    ASSIGN_OR_RETURN(const std::vector<TableRecord> records,
                     database.ReadAll<TableRecord>(
                         Family::kTables, prefix,
                         [](absl::string_view, absl::string_view value) {
                           return DecodeStoredTableRecord(value);
                         }));
    for (const TableRecord& record : records) {
      batch.Put(Family::kTables, HistoryKey(record.epoch),
                EncodeStoredTableRecord(record));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<RocksDbDatabase::Migration> StoreMigrations() {
  return {{.from_version = 1, .apply = BeginHistory}};
}

}  // namespace wavetune
