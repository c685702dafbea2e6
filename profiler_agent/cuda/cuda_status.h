// CUDA error codes become absl::Status here, once.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_STATUS_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_STATUS_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Returns OK for CUDA_SUCCESS. Errors, as Device declares them:
// FAILED_PRECONDITION cannot be launched or loaded here. RESOURCE_EXHAUSTED out
// of memory. ABORTED a launch failed while it ran (such a code stays: every
// later call of the process returns it). UNAVAILABLE device lost. INTERNAL for
// codes that only a mistake of ours explains. The message names `what` was
// done, the code and its name. Cannot fail.
absl::Status CudaStatus(CUresult code, absl::string_view what);

// The same where launches ran meanwhile: codes that mean too many resources
// where a launch is enqueued, and unknown ones, mean a fault (ABORTED) there.
absl::Status CudaRunStatus(CUresult code, absl::string_view what);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_STATUS_H_
