// BindJob: what a profiling job is about, once its device is there: the kernel
// and the device class as they are now.
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_JOB_BINDING_H_
#define WAVETUNE_SERVER_JOBS_JOB_BINDING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "fit/profile.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"

namespace wavetune {

struct JobBinding {
  std::shared_ptr<const TunableKernel> kernel;
  KernelSpec spec;     // The kernel's, with the problems of workloads.
  ProfileInput input;  // Without candidates and samples; its `spec` is not set.
};

// Returns it, and sets key and generation in the job's record: a kernel or
// device that changed since the job was queued has another key. Errors:
// FAILED_PRECONDITION for a top-up of what changed since; the stores' and
// the catalogue's.
absl::StatusOr<JobBinding> BindJob(const JobServices& services,
                                   JobControl* control,
                                   const DeviceFacts& device);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_BINDING_H_
