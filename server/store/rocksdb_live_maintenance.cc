#include "server/store/rocksdb_live_maintenance.h"

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_maintenance.h"
#include "server/store/rocksdb_status.h"

namespace wavetune {
namespace {

absl::Status WasStopped(const char* what) {
  return absl::CancelledError(
      absl::StrCat("the ", what, " was ended before it was done"));
}

// A backup inside of the store would be part of the next one.
absl::Status CheckOutside(const std::string& folder, const std::string& store) {
  std::error_code ignored;
  const std::string inner =
      std::filesystem::weakly_canonical(folder, ignored).string() + "/";
  const std::string outer =
      std::filesystem::weakly_canonical(store, ignored).string() + "/";
  if (inner.compare(0, outer.size(), outer) != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(folder, " is inside of the store ", store,
                   ": give another folder for backups"));
}

absl::StatusOr<int64_t> SizeOfFiles(RocksDbDatabase& database) {
  ASSIGN_OR_RETURN(const RocksDbDatabase::Lock lock, database.LockOpen());
  int64_t bytes = 0;
  for (int i = 0; i < kFamilyCount; ++i) {
    uint64_t of_family = 0;
    database.db().GetIntProperty(database.handle(static_cast<Family>(i)),
                                 rocksdb::DB::Properties::kTotalSstFilesSize,
                                 &of_family);
    bytes += static_cast<int64_t>(of_family);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<StoreMaintenance::Result> RocksDbLiveMaintenance::Check(
    const Control& control) {
  ASSIGN_OR_RETURN(const StoreReport report,
                   CheckDatabase(*database_, [&control](const auto& line) {
                     control.Report(line);
                     return !control.stopped();
                   }));
  Result result{.faults = report.corrupt};
  for (const absl::string_view line :
       absl::StrSplit(report.ToString(), '\n', absl::SkipEmpty())) {
    result.lines.emplace_back(line);
  }
  ASSIGN_OR_RETURN(result.size_bytes, SizeOfFiles(*database_));
  return result;
}

absl::StatusOr<StoreMaintenance::Result> RocksDbLiveMaintenance::BackUp(
    const std::string& folder, const Control& control) {
  RETURN_IF_ERROR(CheckOutside(folder, database_->path()));
  control.Report(absl::StrCat("copies to ", folder));
  RETURN_IF_ERROR(BackupDatabase(*database_, folder, control.stop));
  ASSIGN_OR_RETURN(const std::vector<StoredBackup> backups,
                   ListBackups(folder, database_->env()));
  Result result;
  for (const StoredBackup& backup : backups) {
    result.lines.push_back(backup.ToString());
    result.size_bytes = backup.size_bytes;  // The newest is the last.
  }
  return result;
}

absl::StatusOr<int64_t> RocksDbLiveMaintenance::NewestBackupS(
    const std::string& folder) {
  const absl::StatusOr<std::vector<StoredBackup>> backups = ListBackups(folder);
  if (absl::IsNotFound(backups.status())) return 0;
  RETURN_IF_ERROR(backups.status());
  return backups->empty() ? 0 : backups->back().at_s;
}

absl::StatusOr<StoreMaintenance::Result> RocksDbLiveMaintenance::Compact(
    const Control& control) {
  ASSIGN_OR_RETURN(const int64_t before, SizeOfFiles(*database_));
  for (int i = 0; i < kFamilyCount; ++i) {
    if (control.stopped()) return WasStopped("compaction");
    const auto family = static_cast<Family>(i);
    control.Report(absl::StrCat("rewrites ", FamilyName(family)));
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    // What was begun by itself goes on.
    options.exclusive_manual_compaction = false;
    options.canceled = control.stop;
    ASSIGN_OR_RETURN(const RocksDbDatabase::Lock lock, database_->LockOpen());
    const rocksdb::Status status = database_->db().CompactRange(
        options, database_->handle(family), nullptr, nullptr);
    if (control.stopped()) return WasStopped("compaction");
    RETURN_IF_ERROR(
        FromRocksDb(status, absl::StrCat("compact ", database_->path())));
  }
  Result result;
  ASSIGN_OR_RETURN(result.size_bytes, SizeOfFiles(*database_));
  result.lines.push_back(
      absl::StrCat("files took ", before, " bytes, now ", result.size_bytes));
  return result;
}

}  // namespace wavetune
