// Jobs and tables as people read them.
#ifndef WAVETUNE_CLI_COMMANDS_JOB_TEXT_H_
#define WAVETUNE_CLI_COMMANDS_JOB_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/output.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune::cli {

void PrintJobList(Output& out, const v1::ListJobsResponse& jobs);
// Those that serve, old classes apart; those that were withdrawn or cannot be
// read, with the reasons.
void PrintTableList(Output& out, const v1::ListTablesResponse& tables);
// On which devices which kernel's default cannot be used; nothing where all
// can.
void PrintKernelFaults(Output& out, const v1::ListKernelsResponse& kernels);

// "user 1000" of a user's number; other texts ("daemon") as they are.
std::string UserText(const std::string& by);

// "serving", "serving, pinned", or "STALE: " with what differs.
std::string StaleText(const v1::TableInfo& info);

// Whether a table is of a class that a newer one has taken the place of: it is
// stale, and another of its kernel and silicon was promoted since.
bool IsOldClass(const v1::TableInfo& info,
                const v1::ListTablesResponse& tables);

// Returns an error that ends as kExitStale where a table is stale, for
// --fail-stale; old classes do not count.
absl::Status CheckStale(const v1::ListTablesResponse& tables);

// "sampling", "running": enum names in lower case.
std::string PhaseName(v1::JobPhase phase);
std::string StateName(v1::JobState state);

// "job 12 gemm_f32 sampling", for a progress bar.
std::string ProgressLabel(const v1::JobInfo& job);

// The device of a job, or "8 devices" that measured for it.
std::string DevicesText(const v1::JobInfo& job);

// Whether the job has ended.
bool HasEnded(const v1::JobInfo& job);

// The report of a job's drift probe, each line indented by two; nothing where
// it has none.
void PrintDrift(Output& out, const v1::JobInfo& job);

// One paragraph for each job.
void PrintPlannedJobs(Output& out, const std::vector<v1::PlannedJob>& planned);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_JOB_TEXT_H_
