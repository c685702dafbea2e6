// MaintenanceCommands: `wavetuned check`, `backup` and `restore`, for a store
// that no daemon uses (docs/storage.md).
//
//   MaintenanceCommand command;
//   DeclareMaintenance(app, &store, &command);
//   app.parse(argc, argv);
//   if (command) status = command();
//
// Thread safety: none; used by main.
#ifndef WAVETUNE_SERVER_MAINTENANCE_COMMANDS_H_
#define WAVETUNE_SERVER_MAINTENANCE_COMMANDS_H_

#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace wavetune {

// Does the work and prints the outcome to stdout. Errors: DATA_LOSS where a
// check found damage; FAILED_PRECONDITION where a daemon has the store open;
// NOT_FOUND without a store; else as RocksDbStore::Open, Check, Backup and
// RestoreStore.
using MaintenanceCommand = std::function<absl::Status()>;

// Adds the subcommands to `app`; parsing one of them sets `*command`. `*store`
// is the default of their --store and gets its value. Both outlive `app`.
void DeclareMaintenance(CLI::App& app, std::string* store,
                        MaintenanceCommand* command);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_MAINTENANCE_COMMANDS_H_
