// PlannedJob: a profiling job's work and its cost, as the stored records
// foretell them.
//
// Thread safety: functions over thread-safe stores.
#ifndef WAVETUNE_SERVER_JOBS_JOB_PLAN_H_
#define WAVETUNE_SERVER_JOBS_JOB_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

struct PlannedJob {
  std::string kernel;
  std::string device_uuid;
  std::string what;        // In words, and why.
  int64_t candidates = 0;  // To prepare, at most.
  int64_t samples = 0;     // To measure, at most.
  double device_s = -1;    // Device time of these; negative: unknown.
};

// Returns what `job`, which has not been queued, would do on `device` with
// `kernel`. Errors: the stores'.
absl::StatusOr<PlannedJob> PlanJob(const JobServices& services,
                                   const JobRecord& job,
                                   const TunableKernel& kernel,
                                   const DeviceFacts& device);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_PLAN_H_
