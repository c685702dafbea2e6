// Where a report's input comes from.
//
// Thread safety: none.
#ifndef WAVETUNE_CLI_REPORT_REPORT_SOURCE_H_
#define WAVETUNE_CLI_REPORT_REPORT_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/daemon.h"
#include "cli/progress.h"
#include "cli/report/report_input.h"
#include "fit/profile.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "wavetune/problem.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

struct TraceReportOptions {
  std::string folder;
  // Fit every anchor, as `wavetune evaluate --trace FOLDER` does, in place of
  // what profiling would measure (`--profile` there).
  bool all_anchors = false;
  ProfileOptions profile;
  Progress* progress = nullptr;  // Where anybody wants to see it.
};

// Returns the manifest's representative problems: those of a grid that names no
// specialisation for each of them. Cannot fail.
std::vector<Problem> RepresentativeProblems(const KernelSpec& spec);

// Moves samples at problems that the report's table knows, being fitted or
// representative, from `judged` to `held_out`, and names the problems in
// `known`. Cannot fail.
void KeepApart(ReportInput& report);

// Returns a recorded kernel with a table that is fitted from it. Errors: as
// LoadTraceFolder and FitTrace.
absl::StatusOr<ReportInput> ReportFromTrace(const TraceReportOptions& options);

// Returns a table of the daemon with the samples behind it. What measuring jobs
// measured at problems that are neither fitted nor representative may be
// judged. Errors: as GetTable; FAILED_PRECONDITION for a daemon that does not
// list samples yet; DATA_LOSS for a damaged answer.
// `workload`, where not empty: its problems are representative ones, too, and
// only those are judged that `wavetune bench --workload` measures. Then also
// errors as FindWorkload and JudgedShapes.
absl::StatusOr<ReportInput> ReportFromDaemon(Daemon& daemon,
                                             const v1::GetTableRequest& request,
                                             const std::string& workload = "");

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_REPORT_SOURCE_H_
