#include "server/maintenance_commands.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_maintenance.h"
#include "server/store/rocksdb_store.h"

namespace wavetune {
namespace {

constexpr char kCheckFooter[] = R"(
The store must not be in use: stop the daemon first.

Exit codes: 0 nothing is damaged, 1 damaged or failed, 2 wrong usage.

Examples:
  wavetuned check --store /var/lib/wavetune
)";

constexpr char kBackupFooter[] = R"(
The store must not be in use: stop the daemon first. Only what the last backup
in the folder does not hold is copied; the newest three backups are kept.

Examples:
  wavetuned backup --store /var/lib/wavetune --to /backup/wavetune
)";

constexpr char kRestoreFooter[] = R"(
Makes a store from the newest backup where nothing is: move a damaged store
away first. The backup is verified before anything appears.

Examples:
  wavetuned restore --from /backup/wavetune --store /var/lib/wavetune
)";

using Run = absl::Status(const std::string& store_path,
                         const std::string& backup_path);

// Opens a store that is there: RocksDbStore::Open would make one.
absl::StatusOr<std::unique_ptr<RocksDbStore>> OpenExisting(
    const std::string& path) {
  std::error_code error;
  const bool empty = std::filesystem::is_empty(path, error);
  if (error || empty) {
    return absl::NotFoundError(
        absl::StrCat("there is no store at \"", path, "\"",
                     error ? absl::StrCat(" (", error.message(), ")") : "",
                     ": give its folder with --store"));
  }
  return RocksDbStore::Open({.path = path});
}

absl::Status Check(const std::string& store_path,
                   const std::string& /*backup_path*/) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RocksDbStore> store,
                   OpenExisting(store_path));
  ASSIGN_OR_RETURN(const StoreReport report, store->Check());
  std::printf("%s", report.ToString().c_str());
  if (report.ok()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the store ", store_path, " is damaged in ", report.corrupt,
      " places: the daemon leaves them out; reprofile, or restore a backup"));
}

absl::Status Backup(const std::string& store_path,
                    const std::string& backup_path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RocksDbStore> store,
                   OpenExisting(store_path));
  RETURN_IF_ERROR(store->Backup(backup_path));
  std::printf("backed up %s to %s\n", store_path.c_str(), backup_path.c_str());
  return absl::OkStatus();
}

absl::Status Restore(const std::string& store_path,
                     const std::string& backup_path) {
  RETURN_IF_ERROR(RestoreStore(backup_path, store_path));
  std::printf("restored %s from %s\n", store_path.c_str(), backup_path.c_str());
  return absl::OkStatus();
}

}  // namespace

void DeclareMaintenance(CLI::App& app, std::string* store,
                        MaintenanceCommand* command) {
  const auto backup = std::make_shared<std::string>();
  const auto add = [&](const std::string& name, const std::string& help,
                       const std::string& footer, Run* run) {
    CLI::App* const sub = app.add_subcommand(name, help);
    sub->footer(footer);
    sub->add_option("--store", *store, "Folder of the store")
        ->capture_default_str();
    sub->callback([=] { *command = [=] { return run(*store, *backup); }; });
    return sub;
  };
  add("check", "Checks a store that is not in use for damage", kCheckFooter,
      Check);
  add("backup", "Backs up a store that is not in use", kBackupFooter, Backup)
      ->add_option("--to", *backup,
                   "Folder of the backups, outside of the store")
      ->required();
  add("restore", "Makes a store from its newest backup", kRestoreFooter,
      Restore)
      ->add_option("--from", *backup, "Folder of the backups")
      ->required();
  app.require_subcommand(0, 1);
}

}  // namespace wavetune
