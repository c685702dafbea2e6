// What a drift probe found, and what jobs would do, as people read them.
#ifndef WAVETUNE_CLI_COMMANDS_DRIFT_TEXT_H_
#define WAVETUNE_CLI_COMMANDS_DRIFT_TEXT_H_

#include <vector>

#include "cli/output.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/types.pb.h"

namespace wavetune::cli {

// The report of a job's drift probe, each line indented by two; nothing where
// it has none.
void PrintDrift(Output& out, const v1::JobInfo& job);

// One paragraph for each job.
void PrintPlannedJobs(Output& out, const std::vector<v1::PlannedJob>& planned);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_DRIFT_TEXT_H_
