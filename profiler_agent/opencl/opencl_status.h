// OpenCL error codes become absl::Status here, once.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_STATUS_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_STATUS_H_

#include <CL/cl.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Returns OK for CL_SUCCESS. Errors, as Device declares them: INVALID_ARGUMENT
// does not compile. FAILED_PRECONDITION cannot be launched here.
// RESOURCE_EXHAUSTED out of memory. UNAVAILABLE device lost. INTERNAL for codes
// that only a mistake of ours explains, and for CL_OUT_OF_RESOURCES, which may
// be the candidate's fault or the host's (MayPass). The message names `what`
// was done, the code and its name. Cannot fail.
absl::Status OpenClStatus(cl_int code, absl::string_view what);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_STATUS_H_
