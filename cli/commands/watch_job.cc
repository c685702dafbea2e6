#include "cli/commands/watch_job.h"

#include "absl/strings/str_cat.h"
#include "cli/commands/job_text.h"
#include "cli/no_table.h"

namespace wavetune::cli {

void ShowProgress(Progress& progress, Output& err, const v1::JobInfo& job,
                  std::string& waiting) {
  const std::string reason =
      job.phase() == v1::WAITING && !HasEnded(job) ? job.message() : "";
  if (!reason.empty() && reason != waiting) {
    progress.Finish();
    err << "job " << job.id() << ": " << reason << "\n";
    err.Flush();
  }
  waiting = reason;
  progress.Update(ProgressLabel(job), job.done(), job.total(),
                  job.seconds_left());
}

absl::StatusOr<v1::JobInfo> WatchUntilEnd(CommandContext& context,
                                          Daemon& daemon, uint64_t id) {
  v1::JobInfo last;
  std::string waiting;
  Progress progress(*context.err, context.terminal);
  v1::WatchJobRequest request;
  request.set_id(id);
  const absl::Status status = daemon.Follow<v1::WatchJobResponse>(
      request, [&](const v1::WatchJobResponse& change) {
        last = change.job();
        ShowProgress(progress, *context.err, last, waiting);
      });
  progress.Finish();
  if (absl::IsCancelled(status)) {
    return absl::CancelledError(absl::StrCat(
        "detached; job ", id, " goes on. Watch it with `wavetune jobs show ",
        id, " --wait`, cancel it with `wavetune jobs cancel ", id, "`"));
  }
  if (!status.ok()) return status;
  if (!HasEnded(last))
    return absl::AbortedError(
        absl::StrCat("the daemon stopped reporting before job ", id,
                     " ended; see `wavetune jobs show ", id, "`"));
  return last;
}

absl::Status Outcome(const v1::JobInfo& job) {
  const bool refused = job.kind() == "reprofile" && WasRefused(job);
  if (job.state() == v1::SUCCEEDED && !refused) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("job ", job.id(), " ",
                   job.state() == v1::SUCCEEDED
                       ? absl::StrCat("ended without a table of ", job.kernel())
                       : StateName(job.state()),
                   ": ", job.message()));
}

}  // namespace wavetune::cli
