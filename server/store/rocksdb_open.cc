#include "server/store/rocksdb_open.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rocksdb/db.h"
#include "server/store/rocksdb_database.h"
#include "server/store/rocksdb_options.h"
#include "server/store/rocksdb_status.h"
#include "server/store/rocksdb_store_mount.h"
#include "server/store/rocksdb_store_record.h"

namespace wavetune {
namespace {

std::string LockPath(const std::string& path) {
  return absl::StrCat(path, "/LOCK");
}

// Returns the process that holds the store's lock, or 0. Must not be called
// where this very process may hold it: closing any descriptor of the file gives
// up all of a process's locks on it.
pid_t LockHolder(const std::string& path) {
  const int descriptor = open(LockPath(path).c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return 0;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held =
      fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(descriptor);
  return held ? lock.l_pid : 0;
}

bool IsLockError(const rocksdb::Status& status) {
  if (!status.IsIOError()) return false;
  const std::string text = absl::AsciiStrToLower(status.ToString());
  return absl::StrContains(text, "lock file") ||
         absl::StrContains(text, "lock hold") ||
         absl::StrContains(text, "lock is already held");
}

// What an error of the store's lock means: somebody else holds it, or there are
// no locks where it lies.
absl::Status LockError(const rocksdb::Status& status, const std::string& path,
                       rocksdb::Env* env) {
  const bool ours = absl::StrContains(status.ToString(), "current process");
  if (env == rocksdb::Env::Default() && !ours && !IsTryAgain(status)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store ", path, " cannot be locked (", status.ToString(),
        "), as its file system has no locks, so that two daemons might write "
        "to it: mount it with locks (NFS with lockd, Lustre with -o flock), "
        "or put the store on a local disk"));
  }
  const pid_t pid =
      ours || env != rocksdb::Env::Default() ? 0 : LockHolder(path);
  const std::string who = ours      ? " (this very process)"
                          : pid > 0 ? absl::StrCat(" (pid ", pid, ")")
                                    : "";
  return absl::FailedPreconditionError(
      absl::StrCat("another wavetuned uses the store ", path, who,
                   ": stop it or pass another --store"));
}

// A write-ahead log or a table file: what only a store that was in use has.
bool IsDataFile(const std::string& name) {
  if (absl::EndsWith(name, ".sst")) return true;
  return absl::EndsWith(name, ".log") && name.size() > 4 &&
         std::all_of(name.begin(), name.end() - 4, absl::ascii_isdigit);
}

// Returns the stored schema version, 0 in a store that was never finished, by
// way of a read-only handle: whatever is found, nothing is written.
absl::StatusOr<int> ReadSchemaVersion(const std::string& path,
                                      const std::optional<StoreRecord>& record,
                                      rocksdb::Env* env) {
  const rocksdb::Options options = StoreOptions(env);
  std::vector<std::string> names;
  rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(options, path, &names);
  if (!status.ok()) return OpenError(status, path, env);
  const std::string meta(FamilyName(Family::kMeta));
  if (std::find(names.begin(), names.end(), meta) == names.end()) {
    if (record.has_value()) {
      return DamagedStore(path, "its manifest ends before its families");
    }
    if (names.size() == 1) return 0;
    return absl::FailedPreconditionError(absl::StrCat(
        path, " holds another RocksDB database: pass another --store"));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  status = rocksdb::DB::OpenForReadOnly(
      options, path,
      {{rocksdb::kDefaultColumnFamilyName, options}, {meta, options}}, &handles,
      &raw);
  if (!status.ok()) return OpenError(status, path, env);
  const std::unique_ptr<rocksdb::DB> db(raw);
  const uint64_t sequence = db->GetLatestSequenceNumber();
  std::string text;
  status = db->Get({}, handles[1], ToSlice(kSchemaVersionName), &text);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  if (record.has_value()) {
    RETURN_IF_ERROR(CheckChangesAgainst(*record, path, sequence));
  }
  if (status.IsNotFound()) return 0;
  if (!status.ok()) return OpenError(status, path, env);
  int version = 0;
  if (!absl::SimpleAtoi(text, &version) || version < 1) {
    return DamagedStore(path, "its schema version is no number");
  }
  return version;
}

}  // namespace

absl::Status DamagedStore(const std::string& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "the store ", path, " is damaged (", what,
      "): restore a backup, or move the directory away and start with an empty "
      "store (tables and samples are then measured anew)"));
}

absl::Status NewerStore(const std::string& path, int stored, int known) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the store ", path, " was written by a newer wavetuned (schema ", stored,
      ", this one knows ", known, "): upgrade the daemon or restore a backup"));
}

absl::Status OpenError(const rocksdb::Status& status, const std::string& path,
                       rocksdb::Env* env) {
  if (IsPermissionDenied(status) || status.IsNoSpace()) {
    return FromRocksDb(status, absl::StrCat("open the store ", path));
  }
  if (IsLockError(status)) return LockError(status, path, env);
  if (status.IsCorruption() || IsNewerFormat(status)) {
    const std::optional<StoreRecord> record = ReadStoreRecord(path, env);
    const bool newer = record.has_value() && IsOfNewerRocksDb(*record);
    if (newer || IsNewerFormat(status)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the store ", path, " cannot be read (", status.ToString(),
          "): ", NewerRocksDbText(newer ? record->rocksdb : ""),
          "; start the newer build again, or restore a backup from before it "
          "(if there was none, the store is damaged)"));
    }
  }
  // A file that the manifest names and that is not there is damage, too.
  if (status.IsCorruption() || status.IsPathNotFound()) {
    return DamagedStore(path, status.ToString());
  }
  if (status.IsInvalidArgument() &&
      absl::StrContains(status.ToString(), "olumn famil")) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " holds column families that this wavetuned does not know (",
        status.ToString(), "): upgrade the daemon or pass another --store"));
  }
  return FromRocksDb(status, absl::StrCat("open the store ", path));
}

absl::Status PrepareToOpen(const std::string& path, int schema_version,
                           rocksdb::Env* env) {
  // First, as it may make the folder that is missing.
  if (env == rocksdb::Env::Default() &&
      env->FileExists(absl::StrCat(path, "/CURRENT")).IsNotFound()) {
    RETURN_IF_ERROR(CheckMounted(path));
  }
  rocksdb::Status status = env->CreateDirIfMissing(path);
  if (status.IsPathNotFound()) {
    return absl::NotFoundError(
        absl::StrCat("cannot create the store ", path,
                     ": make its parent directory or pass another --store"));
  }
  if (!status.ok()) return OpenError(status, path, env);

  rocksdb::FileLock* lock = nullptr;
  status = env->LockFile(LockPath(path), &lock);
  if (!status.ok()) return OpenError(status, path, env);
  const auto unlock = [env](rocksdb::FileLock* held) {
    env->UnlockFile(held).PermitUncheckedError();
  };
  const std::unique_ptr<rocksdb::FileLock, decltype(unlock)> guard(lock,
                                                                   unlock);

  std::vector<std::string> names;
  status = env->GetChildren(path, &names);
  if (!status.ok()) return OpenError(status, path, env);
  const std::optional<StoreRecord> record = ReadStoreRecord(path, env);
  if (std::find(names.begin(), names.end(), "CURRENT") == names.end()) {
    // RocksDB would take the directory for a new database and delete the rest.
    if (record.has_value() ||
        std::any_of(names.begin(), names.end(), IsDataFile)) {
      return DamagedStore(path, "the file CURRENT is missing");
    }
    return absl::OkStatus();
  }
  if (record.has_value()) {
    RETURN_IF_ERROR(CheckFilesAgainst(*record, path, env));
  }
  ASSIGN_OR_RETURN(const int stored, ReadSchemaVersion(path, record, env));
  if (stored > schema_version) return NewerStore(path, stored, schema_version);
  return absl::OkStatus();
}

}  // namespace wavetune
