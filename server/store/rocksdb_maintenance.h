// Maintenance of the store: check, backup, restore (docs/storage.md).
//
//   store->Check();                                  // RocksDbStore has both
//   store->Backup("/backup/wavetune");               // while it is in use
//   RestoreStore("/backup/wavetune", "/var/lib/wavetune/store");  // while not
//
// Thread safety: any number of threads; one backup directory is used by one
// call at a time.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_MAINTENANCE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_MAINTENANCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rocksdb {
class Env;
}

namespace wavetune {

class RocksDbDatabase;

// What a walk over all entries found.
struct StoreReport {
  struct FamilyReport {
    std::string family;
    int64_t entries = 0;
    int64_t size_bytes = 0;  // Keys and values, before compression.
    int64_t corrupt = 0;     // Entries, or runs of entries, that are unusable.
  };
  std::vector<FamilyReport> families;
  // One line for each thing that is wrong, at most kMaxProblems.
  std::vector<std::string> problems;
  int64_t corrupt = 0;

  static constexpr size_t kMaxProblems = 100;

  bool ok() const { return corrupt == 0; }
  // For people; several lines.
  std::string ToString() const;
};

// Reads every entry, checks what it means, and verifies the checksums of all
// files. Errors: INTERNAL where reading fails for another reason than damage.
// CANCELLED where `go_on` says no, which is asked now and then and told what
// the check reads. Cost: reads the whole store.
using CheckGoesOn = std::function<bool(const std::string& what)>;
absl::StatusOr<StoreReport> CheckDatabase(RocksDbDatabase& database,
                                          const CheckGoesOn& go_on = nullptr);

// Adds a backup of the open store to `backup_path` (made if missing; not inside
// of the store) and deletes all but the newest kBackupsKept. Files that the
// last backup holds already are not copied again. Errors: as
// RocksDbDatabase::Write; CANCELLED where `stop` is set meanwhile.
absl::Status BackupDatabase(RocksDbDatabase& database,
                            const std::string& backup_path,
                            const std::atomic<bool>* stop = nullptr);
inline constexpr int kBackupsKept = 3;

// A complete backup.
struct StoredBackup {
  uint64_t id = 0;   // Increasing.
  int64_t at_s = 0;  // Since the Unix epoch.
  int64_t size_bytes = 0;

  // For people; one line.
  std::string ToString() const;
};
// Returns those in a folder, oldest first. Errors: NOT_FOUND where it is
// missing. Damaged ones are left out.
absl::StatusOr<std::vector<StoredBackup>> ListBackups(
    const std::string& backup_path, rocksdb::Env* env = nullptr);

// Makes a store at `store_path`, which must not exist or be empty, from the
// newest backup. The restored store has an id of its own: its revision is lower
// than what clients of the lost one may have seen, so they must start anew.
// Errors: NOT_FOUND where there is no backup; DATA_LOSS where it is damaged;
// FAILED_PRECONDITION where `store_path` holds something. On failure nothing is
// left at `store_path`.
absl::Status RestoreStore(const std::string& backup_path,
                          const std::string& store_path,
                          rocksdb::Env* env = nullptr);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_MAINTENANCE_H_
