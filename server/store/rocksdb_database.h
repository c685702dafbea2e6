// RocksDbDatabase: the open store: column families, identity, schema version,
// writes that recover from a full disk, and the count of damaged entries.
//
// Only the rocksdb_* files use it; everybody else sees RocksDbStore. Layout and
// guarantees: docs/storage.md.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_DATABASE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_DATABASE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/slice.h"
#include "server/store/rocksdb_store_record.h"

namespace wavetune {

// Layout of keys and values that this program reads and writes.
inline constexpr int kSchemaVersion = 2;

// Column families, in the order in which they are created.
enum class Family { kMeta, kDevices, kKernels, kSamples, kTables, kJobs };
inline constexpr int kFamilyCount = 6;
absl::string_view FamilyName(Family family);

inline rocksdb::Slice ToSlice(absl::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}
inline absl::string_view ToView(const rocksdb::Slice& slice) {
  return absl::string_view(slice.data(), slice.size());
}

// Changes that are written together. Holds no handle of the open database: it
// may be opened anew before they are written.
class StoreBatch {
 public:
  void Put(Family family, absl::string_view key, absl::string_view value) {
    changes_.push_back(
        {Change::kPut, family, std::string(key), std::string(value)});
  }
  void Delete(Family family, absl::string_view key) {
    changes_.push_back({Change::kDelete, family, std::string(key), ""});
  }
  // Deletes from `begin` up to and without `end`.
  void DeleteRange(Family family, absl::string_view begin,
                   absl::string_view end) {
    changes_.push_back(
        {Change::kDeleteRange, family, std::string(begin), std::string(end)});
  }

 private:
  friend class RocksDbDatabase;
  struct Change {
    enum Kind { kPut, kDelete, kDeleteRange } kind;
    Family family;
    std::string key;
    std::string value;
  };
  std::vector<Change> changes_;
};

class RocksDbDatabase {
 public:
  // Brings a store from `from_version` to the next one: adds what changes to
  // `batch`, which is written together with the new version. Reads through
  // `database`.
  struct Migration {
    int from_version = 0;
    std::function<absl::Status(RocksDbDatabase& database, StoreBatch& batch)>
        apply;
  };

  struct Options {
    std::string path;
    rocksdb::Env* env = nullptr;  // nullptr: the operating system's.
    // Tests open stores as other versions of the program would.
    int schema_version = kSchemaVersion;
    std::vector<Migration> migrations = {};  // Schema 1 is the first.
    // For the pauses between attempts to recover: microseconds from any
    // origin; nullptr: since the machine was started.
    std::function<int64_t()> now_us = nullptr;
  };

  // Opens the store, creating it where there is none. Errors:
  // FAILED_PRECONDITION where another daemon has it open, or a newer one wrote
  // it (then nothing was written). PERMISSION_DENIED. NOT_FOUND where the
  // parent directory is missing. DATA_LOSS where files are damaged or missing.
  // Messages say what to do. Cost: replays the write-ahead log twice (once
  // read-only, to look at the schema version).
  static absl::StatusOr<std::unique_ptr<RocksDbDatabase>> Open(Options options);

  ~RocksDbDatabase();
  RocksDbDatabase(const RocksDbDatabase&) = delete;
  RocksDbDatabase& operator=(const RocksDbDatabase&) = delete;

  const std::string& path() const { return options_.path; }
  const std::string& store_id() const { return store_id_; }
  int schema_version() const { return options_.schema_version; }
  rocksdb::Env* env() const { return env_; }

  // The open database and its families, valid while the lock is held; do not
  // call other functions meanwhile. Errors: INTERNAL where it could not be
  // opened anew.
  using Lock = std::shared_lock<std::shared_mutex>;
  absl::StatusOr<Lock> LockOpen();
  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return handles_[static_cast<size_t>(family)];
  }

  // Returns a value; nothing where there is none. Errors: as FromRocksDb.
  absl::StatusOr<std::optional<std::string>> Get(Family family,
                                                 absl::string_view key);

  // Calls `visit` for each entry under `prefix`, in key order from `start` (a
  // key under it; empty: the first) on, until it returns false. Where a block
  // of a file is damaged its entries are left out and the damage is reported.
  // The scan goes on at the key that `resume` returns for the last key reached
  // and the number of attempts so far. It ends with OK where `resume` returns
  // nothing. Errors: as FromRocksDb, but for DATA_LOSS.
  using Visit =
      std::function<bool(absl::string_view key, absl::string_view value)>;
  using Resume = std::function<std::optional<std::string>(
      absl::string_view last_key, int attempt)>;
  absl::Status Scan(Family family, absl::string_view prefix, const Visit& visit,
                    const Resume& resume = nullptr,
                    absl::string_view start = "");

  // Writes a batch, atomically; `sync`: it is on disk when this returns. After
  // an I/O error RocksDB refuses all writes: this makes it go on, so that the
  // first write with space back on the disk succeeds. Errors: as FromRocksDb;
  // then nothing was added. FAILED_PRECONDITION where the store's folder is not
  // in its place any more.
  absl::Status Write(const StoreBatch& batch, bool sync,
                     absl::string_view doing);

  // OK, or why nothing can be written: what the last write ended with, a flush
  // or compaction in the background, or the last attempt to recover.
  absl::Status WriteProblem();

  // Makes writes possible again where they fail and what they lacked is back,
  // without a write being asked for; notices a folder that is not in its place
  // any more. Returns WriteProblem. Cost: two system calls where nothing fails;
  // else as a write on a full disk.
  absl::Status RecoverWrites();

  // Numbers of family meta, as decimal text; 0 where there is none. Errors:
  // DATA_LOSS for anything else.
  absl::StatusOr<uint64_t> GetNumber(absl::string_view name);
  void PutNumber(absl::string_view name, uint64_t number, StoreBatch& batch);
  // Gives the store a new identity (after a restore). Not thread-safe.
  absl::Status ReplaceStoreId();

  // Counts and logs an entry that cannot be used; once for each.
  void ReportCorrupt(Family family, absl::string_view key,
                     const absl::Status& reason);
  // Returns the records of all entries with the prefix, in the order of their
  // keys; those that `decode`, of (key, value), refuses are reported and left
  // out. Errors: as Scan.
  template <typename Record>
  absl::StatusOr<std::vector<Record>> ReadAll(
      Family family, absl::string_view prefix,
      const std::function<absl::StatusOr<Record>(
          absl::string_view key, absl::string_view value)>& decode) {
    std::vector<Record> records;
    const absl::Status scanned = Scan(
        family, prefix, [&](absl::string_view key, absl::string_view value) {
          absl::StatusOr<Record> record = decode(key, value);
          if (record.ok()) {
            records.push_back(*std::move(record));
          } else {
            ReportCorrupt(family, key, record.status());
          }
          return true;
        });
    if (!scanned.ok()) return scanned;
    return records;
  }
  // Entries reported since Open.
  int64_t corrupt_entries() const { return corrupt_entries_; }

 private:
  class Listener;

  explicit RocksDbDatabase(Options options);

  absl::Status OpenFiles();
  rocksdb::Status TryOpen(bool read_only);
  // `sync`: not after a failed write.
  void CloseFiles(bool sync);
  rocksdb::Status TryWrite(const StoreBatch& batch, bool sync);
  rocksdb::Status RecoverAndWrite(const StoreBatch& batch, bool sync);
  // Makes writes possible again after an I/O error, or says why not yet. Holds
  // recover_mutex_.
  rocksdb::Status Recover();
  rocksdb::Status ProbeSpace();
  rocksdb::Status Reopen();
  // FAILED_PRECONDITION where the folder is gone or another one is there.
  absl::Status CheckInPlace();
  void NoteWrites(const absl::Status& status);
  absl::Status LoadIdentity();
  absl::Status CreateIdentity();
  // For a store with schema `version`.
  absl::Status ReadIdentity(int version, const StoreRecord& here);
  absl::Status Migrate(int from_version);
  // Gives the store a new id where its folder is a copy of another store's.
  absl::Status RenewCopiedId(const StoreRecord& here);
  // Writes down that changes up to `sequence` are on disk.
  absl::Status RecordChanges(rocksdb::DB& db, uint64_t sequence);

  const Options options_;
  rocksdb::Env* const env_;
  const std::unique_ptr<rocksdb::Env> rocksdb_env_;  // As RocksDB sees env_.
  std::mutex recover_mutex_;  // One thread at a time recovers.
  // Guarded by recover_mutex_: opening anew failed, and is tried again then.
  int64_t reopen_at_us_ = 0;
  int64_t reopen_pause_us_ = 0;
  rocksdb::Status reopen_failure_;
  std::shared_mutex open_mutex_;
  // Guarded by open_mutex_: exclusively held while opening anew.
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount + 1> handles_{};
  std::string store_id_;
  std::string place_;  // StorePlace when it was opened.
  // Set by whatever RocksDB could not write; it must not write again before it
  // was opened anew.
  std::atomic<bool> needs_recovery_ = false;
  std::mutex problem_mutex_;
  absl::Status problem_;  // Guarded by problem_mutex_.
  std::mutex record_mutex_;
  std::optional<StoreRecord> record_;  // Guarded by record_mutex_.
  std::atomic<int64_t> corrupt_entries_ = 0;
  std::mutex corrupt_mutex_;
  // Guarded by corrupt_mutex_.
  std::set<std::pair<Family, std::string>> corrupt_keys_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_DATABASE_H_
