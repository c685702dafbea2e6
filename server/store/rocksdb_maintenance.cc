#include "server/store/rocksdb_maintenance.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/store.pb.h"
#include "rocksdb/utilities/backup_engine.h"
#include "server/store/rocksdb_database.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/rocksdb_migrations.h"
#include "server/store/rocksdb_status.h"
#include "server/store/stored_event.h"
#include "server/store/stored_format.h"
#include "server/store/stored_records.h"
#include "server/store/stored_usage.h"
#include "server/store/stored_workload.h"

namespace wavetune {
namespace {

// Entries between two looks at whether the check goes on.
constexpr int64_t kEntriesBetween = 1000;

// Walks the store and writes the report.
class Checker {
 public:
  Checker(RocksDbDatabase& database, const CheckGoesOn& go_on)
      : database_(database), go_on_(go_on) {}

  absl::StatusOr<StoreReport> Run() {
    ASSIGN_OR_RETURN(const RocksDbDatabase::Lock lock, database_.LockOpen());
    for (int i = 0; i < kFamilyCount; ++i) {
      RETURN_IF_ERROR(CheckFamily(static_cast<Family>(i)));
    }
    for (const auto& [digest, kernel] : serving_) {
      if (digests_.contains(digest)) continue;
      report_.corrupt++;
      AddProblem(absl::StrCat("tables: kernel '", kernel, "' serves table ",
                              digest, ", which is missing or damaged"));
    }
    RETURN_IF_ERROR(GoOn("reads the checksums of all files"));
    const rocksdb::Status checksums = database_.db().VerifyChecksum();
    if (!checksums.ok()) {
      report_.corrupt++;
      AddProblem(absl::StrCat("files: ", checksums.ToString()));
    }
    return std::move(report_);
  }

 private:
  absl::Status CheckFamily(Family family) {
    StoreReport::FamilyReport& counts = report_.families.emplace_back();
    counts.family = std::string(FamilyName(family));
    const auto fail = [&](absl::string_view key, const absl::Status& reason) {
      ++counts.corrupt;
      ++report_.corrupt;
      AddProblem(absl::StrCat(counts.family, ": key ", absl::CHexEscape(key),
                              ": ", reason.message()));
    };
    const std::unique_ptr<rocksdb::Iterator> it(
        database_.db().NewIterator(ReadOptions(), database_.handle(family)));
    std::string last_key;
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      last_key = it->key().ToString();
      if (counts.entries++ % kEntriesBetween == 0) {
        RETURN_IF_ERROR(GoOn(absl::StrCat(
            counts.family, ": ", counts.entries - 1, " entries read")));
      }
      counts.size_bytes +=
          static_cast<int64_t>(it->key().size() + it->value().size());
      const absl::Status status =
          CheckEntry(family, last_key, ToView(it->value()));
      if (!status.ok()) fail(last_key, status);
    }
    absl::Status status = FromRocksDb(
        it->status(), absl::StrCat("read what follows in ", counts.family));
    if (absl::IsDataLoss(status)) {
      fail(last_key, status);
      return absl::OkStatus();
    }
    return status;
  }

  absl::Status GoOn(const std::string& what) const {
    if (!go_on_ || go_on_(what)) return absl::OkStatus();
    return absl::CancelledError("the check was ended before it was done");
  }

  // A check reads everything once: it must not push out what clients use.
  static rocksdb::ReadOptions ReadOptions() {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    return options;
  }

  absl::Status CheckEntry(Family family, absl::string_view key,
                          absl::string_view value) {
    switch (family) {
      case Family::kMeta:
        return absl::OkStatus();
      case Family::kKernels:
        return CheckKernelEntry(key, value);
      case Family::kDevices:
        return DecodeStoredDevice(value).status();
      case Family::kJobs:
        return DecodeStoredJob(value).status();
      case Family::kTables:
        return CheckTableEntry(key, value);
      case Family::kSamples:
        return CheckSampleEntry(key, value);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckKernelEntry(absl::string_view key,
                                       absl::string_view value) {
    if (absl::StartsWith(key, kUsagePrefix)) {
      return DecodeStoredUsage(value).status();
    }
    if (absl::StartsWith(key, kFleetHeadPrefix)) {
      return ParseStored<v1::StoredFleetHead>(value).status();
    }
    if (absl::StartsWith(key, kWorkloadPrefix)) {
      return DecodeStoredWorkload(value).status();
    }
    if (absl::StartsWith(key, kEventPrefix)) {
      return DecodeStoredEvent(value).status();
    }
    // What else a later daemon keeps here is its own affair.
    return absl::OkStatus();
  }

  absl::Status CheckTableEntry(absl::string_view key, absl::string_view value) {
    if (absl::StartsWith(key, kServingPrefix)) {
      ASSIGN_OR_RETURN(const TableRecord record,
                       DecodeStoredTableRecord(value));
      serving_[record.digest] = record.key.kernel;
      return absl::OkStatus();
    }
    if (absl::StartsWith(key, kWithdrawnPrefix) ||
        absl::StartsWith(key, kHistoryPrefix)) {
      return DecodeStoredTableRecord(value).status();
    }
    if (absl::StartsWith(key, kRejectedPrefix)) {
      return DecodeStoredRejected(value).status();
    }
    if (absl::StartsWith(key, kPinPrefix)) {
      return DecodeStoredPin(value).status();
    }
    if (!absl::StartsWith(key, kPayloadPrefix)) {
      return absl::DataLossError("unknown key");
    }
    ASSIGN_OR_RETURN(const StoredPayload table, DecodeStoredTable(value));
    if (PayloadKey(table.record.digest) != key) {
      return absl::DataLossError("the table has another digest");
    }
    digests_.insert(table.record.digest);
    return absl::OkStatus();
  }

  static absl::Status CheckSampleEntry(absl::string_view key,
                                       absl::string_view value) {
    if (absl::StartsWith(key, kGenerationsPrefix)) {
      return DecodeStoredGeneration(value).status();
    }
    if (EntryKind(key) == SampleEntry::kSample) {
      return DecodeStoredSample(value).status();
    }
    if (EntryKind(key) == SampleEntry::kCandidate) {
      return DecodeStoredCandidate(value).status();
    }
    return absl::DataLossError("unknown key");
  }

  void AddProblem(std::string problem) {
    if (report_.problems.size() < StoreReport::kMaxProblems) {
      report_.problems.push_back(std::move(problem));
    }
  }

  RocksDbDatabase& database_;
  const CheckGoesOn& go_on_;
  StoreReport report_;
  std::map<std::string, std::string> serving_;  // Digest to kernel.
  std::set<std::string> digests_;               // Of sound payloads.
};

absl::StatusOr<std::unique_ptr<rocksdb::BackupEngine>> OpenBackups(
    const std::string& backup_path, rocksdb::Env* env) {
  rocksdb::BackupEngineOptions options(backup_path);
  options.sync = true;
  rocksdb::BackupEngine* engine = nullptr;
  const rocksdb::Status status =
      rocksdb::BackupEngine::Open(options, env, &engine);
  if (!status.ok()) {
    return FromRocksDb(status, absl::StrCat("open the backup ", backup_path));
  }
  return std::unique_ptr<rocksdb::BackupEngine>(engine);
}

// Deletes a directory without subdirectories, best effort.
void DeleteDirectory(const std::string& path, rocksdb::Env* env) {
  std::vector<std::string> names;
  if (!env->GetChildren(path, &names).ok()) return;
  for (const std::string& name : names) {
    env->DeleteFile(absl::StrCat(path, "/", name)).PermitUncheckedError();
  }
  env->DeleteDir(path).PermitUncheckedError();
}

absl::Status CheckNothingAt(const std::string& path, rocksdb::Env* env) {
  std::vector<std::string> names;
  const rocksdb::Status status = env->GetChildren(path, &names);
  if (status.IsNotFound() || status.IsPathNotFound()) return absl::OkStatus();
  if (!status.ok()) return FromRocksDb(status, absl::StrCat("look at ", path));
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is not empty: stop the daemon and move the store away first"));
  }
  return absl::OkStatus();
}

// Restores into a directory that is not the store yet, verified and with a new
// identity.
absl::Status RestoreInto(const std::string& backup_path,
                         const std::string& path, rocksdb::Env* env) {
  ASSIGN_OR_RETURN(const std::unique_ptr<rocksdb::BackupEngine> backups,
                   OpenBackups(backup_path, env));
  std::vector<rocksdb::BackupInfo> infos;
  backups->GetBackupInfo(&infos);
  if (infos.empty()) {
    return absl::NotFoundError(absl::StrCat(
        backup_path, " holds no complete backup: pass another directory"));
  }
  const rocksdb::BackupID newest = infos.back().backup_id;
  const std::string doing =
      absl::StrCat("restore backup ", newest, " of ", backup_path);
  RETURN_IF_ERROR(FromRocksDb(
      backups->VerifyBackup(newest, /*verify_with_checksum=*/true), doing));
  RETURN_IF_ERROR(
      FromRocksDb(backups->RestoreDBFromBackup(newest, path, path), doing));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<RocksDbDatabase> database,
      RocksDbDatabase::Open(
          {.path = path, .env = env, .migrations = StoreMigrations()}));
  return database->ReplaceStoreId();
}

}  // namespace

std::string StoreReport::ToString() const {
  std::string text;
  for (const FamilyReport& family : families) {
    absl::StrAppend(&text, family.family, ": ", family.entries, " entries, ",
                    family.size_bytes, " bytes, ", family.corrupt,
                    " corrupt\n");
  }
  for (const std::string& problem : problems) {
    absl::StrAppend(&text, problem, "\n");
  }
  absl::StrAppend(&text, ok() ? "the store is sound\n"
                              : "the store is damaged: restore a backup, or "
                                "reprofile what is missing\n");
  return text;
}

absl::StatusOr<StoreReport> CheckDatabase(RocksDbDatabase& database,
                                          const CheckGoesOn& go_on) {
  return Checker(database, go_on).Run();
}

absl::Status BackupDatabase(RocksDbDatabase& database,
                            const std::string& backup_path,
                            const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<rocksdb::BackupEngine> backups,
                   OpenBackups(backup_path, database.env()));
  ASSIGN_OR_RETURN(const RocksDbDatabase::Lock lock, database.LockOpen());
  const std::string doing =
      absl::StrCat("back up ", database.path(), " to ", backup_path);
  const auto is_stopped = [stop] { return stop != nullptr && stop->load(); };
  const rocksdb::Status status = backups->CreateNewBackup(
      &database.db(), /*flush_before_backup=*/false, [&] {
        if (is_stopped()) backups->StopBackup();
      });
  if (is_stopped()) {
    return absl::CancelledError("the backup was ended before it was done");
  }
  RETURN_IF_ERROR(FromRocksDb(status, doing));
  return FromRocksDb(backups->PurgeOldBackups(kBackupsKept), doing);
}

std::string StoredBackup::ToString() const {
  return absl::StrCat(
      "backup ", id, " of ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(at_s),
                       absl::UTCTimeZone()),
      ", ", size_bytes, " bytes");
}

absl::StatusOr<std::vector<StoredBackup>> ListBackups(
    const std::string& backup_path, rocksdb::Env* env) {
  if (env == nullptr) env = rocksdb::Env::Default();
  // Opening would make it.
  if (!env->FileExists(backup_path).ok()) {
    return absl::NotFoundError(
        absl::StrCat("there is no backup directory ", backup_path));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<rocksdb::BackupEngine> engine,
                   OpenBackups(backup_path, env));
  std::vector<rocksdb::BackupInfo> infos;
  engine->GetBackupInfo(&infos);
  std::vector<StoredBackup> backups;
  for (const rocksdb::BackupInfo& info : infos) {
    backups.push_back({.id = info.backup_id,
                       .at_s = info.timestamp,
                       .size_bytes = static_cast<int64_t>(info.size)});
  }
  return backups;
}

absl::Status RestoreStore(const std::string& backup_path,
                          const std::string& store_path, rocksdb::Env* env) {
  if (env == nullptr) env = rocksdb::Env::Default();
  RETURN_IF_ERROR(CheckNothingAt(store_path, env));
  // Opening a backup would make the directory.
  if (!env->FileExists(backup_path).ok()) {
    return absl::NotFoundError(
        absl::StrCat("there is no backup directory ", backup_path));
  }
  // The store appears at once or not at all.
  const std::string staging = absl::StrCat(store_path, ".restoring");
  DeleteDirectory(staging, env);
  absl::Status status = RestoreInto(backup_path, staging, env);
  if (status.ok()) {
    env->DeleteDir(store_path).PermitUncheckedError();
    status = FromRocksDb(env->RenameFile(staging, store_path),
                         absl::StrCat("move the store to ", store_path));
  }
  if (!status.ok()) DeleteDirectory(staging, env);
  return status;
}

}  // namespace wavetune
