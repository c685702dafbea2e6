// CarryOver: a job makes the serving table serve for its own environment, too.
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_CARRY_OVER_H_
#define WAVETUNE_SERVER_JOBS_CARRY_OVER_H_

#include <string>

#include "absl/status/status.h"
#include "server/jobs/incumbent.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"

namespace wavetune {

// Returns whether a serving table was carried over to a class that is attached,
// other than that of `environment_key`. It stays there: carried on, it would
// leave that class stale, which would take it back.
bool StaysWithAttached(ExecutorDirectory& executors, const TableRecord& serving,
                       const std::string& environment_key);

// Carries the table over to the key of the job, and records the outcome in the
// job. So it does, too, where another job promoted a table or found a choice
// wrong meanwhile, and nothing is carried over. `incumbent` is comparable, of
// the kernel as it is now and stale for the key. `why` says what the
// measurements were. Errors: CANCELLED; the stores'.
absl::Status CarryOver(const JobServices& services, JobControl* control,
                       const Incumbent& incumbent, const std::string& why);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_CARRY_OVER_H_
