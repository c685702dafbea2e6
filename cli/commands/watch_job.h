// Watching a job from the command line.
#ifndef WAVETUNE_CLI_COMMANDS_WATCH_JOB_H_
#define WAVETUNE_CLI_COMMANDS_WATCH_JOB_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/command_context.h"
#include "cli/daemon.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace wavetune::cli {

// Shows progress until the job ends and returns its last state. Errors: as
// Daemon::Follow; CANCELLED after an interrupt, saying that the job goes
// on and how to cancel it; ABORTED where the daemon ended the stream early.
absl::StatusOr<v1::JobInfo> WatchUntilEnd(CommandContext& context,
                                          Daemon& daemon, uint64_t id);

// Returns OK for a job that succeeded, else an error with its message. A
// profile succeeds where a table serves at its end that it promoted or found to
// hold: one whose table was refused is an error, too.
absl::Status Outcome(const v1::JobInfo& job);

// Shows a job's progress, and, a line each, what it waits for. `waiting` is the
// caller's memory of the last such line, empty at first.
void ShowProgress(Progress& progress, Output& err, const v1::JobInfo& job,
                  std::string& waiting);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_WATCH_JOB_H_
