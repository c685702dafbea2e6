#include "client/cli/watch_job.h"

#include "absl/strings/str_cat.h"
#include "client/cli/job_text.h"
#include "client/cli/progress.h"

namespace wavetune::cli {

absl::StatusOr<v1::JobInfo> WatchUntilEnd(CommandContext& context,
                                          JobControl& jobs, uint64_t id) {
  v1::JobInfo last;
  Progress progress(*context.err, context.terminal);
  const absl::Status status = jobs.WatchJob(id, [&](const v1::JobInfo& job) {
    last = job;
    progress.Update(ProgressLabel(job), job.done(), job.total(),
                    job.seconds_left());
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
  if (job.state() == v1::SUCCEEDED) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      "job ", job.id(), " ", StateName(job.state()), ": ", job.message()));
}

}  // namespace wavetune::cli
