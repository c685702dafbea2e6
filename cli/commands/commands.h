// The command groups; each adds itself to the registry.
#ifndef WAVETUNE_CLI_COMMANDS_COMMANDS_H_
#define WAVETUNE_CLI_COMMANDS_COMMANDS_H_

#include <string>

#include "absl/status/status.h"
#include "cli/command_context.h"
#include "cli/command_registry.h"

namespace wavetune::cli {

void AddStatusCommands(CommandRegistry& registry);   // status, devices
void AddDemoCommand(CommandRegistry& registry);      // demo
void AddUpCommands(CommandRegistry& registry);       // up, down
void AddEventsCommand(CommandRegistry& registry);    // events
void AddKernelsCommands(CommandRegistry& registry);  // kernels ...
// kernels new, kernels check, kernels export; `kernels` is the group.
void AddKernelsNewCommand(CommandRegistry& registry, CLI::App* kernels);
void AddKernelsCheckCommand(CommandRegistry& registry, CLI::App* kernels);
void AddKernelsExportCommand(CommandRegistry& registry, CLI::App* kernels);
void AddReprofileCommand(CommandRegistry& registry);  // reprofile
void AddJobsCommands(CommandRegistry& registry);      // jobs ...
void AddTablesCommands(CommandRegistry& registry);    // tables ...
// tables history, tables rollback, ...; `tables` is the group.
void AddTablesAdminCommands(CommandRegistry& registry, CLI::App* tables);
// tables import, tables retire.
void AddTablesImportCommands(CommandRegistry& registry, CLI::App* tables);
// tables verify.
void AddTablesVerifyCommand(CommandRegistry& registry, CLI::App* tables);
// tables diff.
void AddTablesDiffCommand(CommandRegistry& registry, CLI::App* tables);
void AddStoreCommands(CommandRegistry& registry);      // store ...
void AddFleetCommands(CommandRegistry& registry);      // fleet ...
void AddDoctorCommand(CommandRegistry& registry);      // doctor
void AddResolveCommand(CommandRegistry& registry);     // resolve
void AddExplainCommand(CommandRegistry& registry);     // explain
void AddBenchCommand(CommandRegistry& registry);       // bench
void AddEvaluateCommand(CommandRegistry& registry);    // evaluate
void AddReportCommand(CommandRegistry& registry);      // report
void AddExportCommand(CommandRegistry& registry);      // export
void AddWorkloadCommands(CommandRegistry& registry);   // workload ...
void AddCompletionCommand(CommandRegistry& registry);  // completion

// As `wavetune bench FOLDER --local --exhaustive`, on this machine's CPU: a
// daemon and an agent for this call alone profile the kernel. Its choices at
// the problems of `shapes` are measured beside every other configuration.
// Errors: as those of bench.
absl::Status BenchOnCpu(CommandContext& context, const std::string& folder,
                        const std::string& shapes);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_COMMANDS_H_
