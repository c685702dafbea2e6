// StoreRecord: what the database in a store's folder must at least hold, in a
// file of its own beside it (STORE). So damage that RocksDB cannot see, a
// missing log or a manifest that ends too early, is no empty store; and a copy
// of the folder is known for one.
//
// Thread safety: pure functions over files.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_STORE_RECORD_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_STORE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace wavetune {

struct StoreRecord {
  std::string store_id;
  // The folder that the store was opened in, as StorePlace.
  std::string place;
  // RocksDB's number of the last change that was surely on disk.
  uint64_t sequence = 0;
  // The manifest that was written to, and its length. Changes alone say too
  // little: the log behind a gap has higher numbers than what is missing.
  uint64_t manifest = 0;
  uint64_t manifest_bytes = 0;
  // The write-ahead log that was written to; later ones have higher numbers.
  uint64_t log = 0;
  // The folder's path without links, and the machine. Empty, as what follows,
  // in a record of an older daemon.
  std::string path = {};
  std::string host = {};
  // The version of RocksDB that wrote last.
  std::string rocksdb = {};

  friend bool operator==(const StoreRecord&, const StoreRecord&) = default;
};

// Returns the record of the store at `path`. Nothing where there is none (a new
// store, one of an older daemon, a restored one) or where it is not readable as
// one, which is logged.
std::optional<StoreRecord> ReadStoreRecord(const std::string& path,
                                           rocksdb::Env* env);

// Replaces the record, synced: the old one or the new one is there, never a
// part. Errors: as FromRocksDb.
absl::Status WriteStoreRecord(const StoreRecord& record,
                              const std::string& path, rocksdb::Env* env);

// What tells a folder from another one: inode and time of birth, which a move
// within a file system keeps. Not the device, whose number may change with a
// reboot. Empty in an environment that is not the operating system's.
std::string StorePlace(const std::string& path, rocksdb::Env* env);

// Returns a record of the store at `path` now: place, path, host and RocksDB.
// The rest is empty.
StoreRecord RecordOfFolder(const std::string& path, rocksdb::Env* env);

// Whether the folder that `before` was written in is not the one that `now` is
// of, but its source: neither place nor path is the same. A folder that only
// has another inode was put back, or its file system numbers anew at each
// mount. Pure.
bool IsCopy(const StoreRecord& before, const StoreRecord& now);

// Whether a later RocksDB wrote `record` than this program has: a library of
// another minor version may write what this one cannot read. Pure.
bool IsOfNewerRocksDb(const StoreRecord& record);

// DATA_LOSS where the files at `path` are less than `record` says: the log is
// missing, or the end of the manifest. Writes nothing.
absl::Status CheckFilesAgainst(const StoreRecord& record,
                               const std::string& path, rocksdb::Env* env);

// The same of the last change that was read from the database.
absl::Status CheckChangesAgainst(const StoreRecord& record,
                                 const std::string& path, uint64_t sequence);

// Notes in `record` what the open database has put on disk, changes up to
// `sequence` at least.
void NoteChanges(rocksdb::DB& db, uint64_t sequence, const std::string& path,
                 rocksdb::Env* env, StoreRecord& record);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_STORE_RECORD_H_
