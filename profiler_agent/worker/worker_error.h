// WorkerError <-> absl::Status: the errors of Device, over the pipe.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_WORKER_ERROR_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_WORKER_ERROR_H_

#include "absl/status/status.h"
#include "proto/wavetune/v1/worker.pb.h"

namespace wavetune {

// COMPILE is INVALID_ARGUMENT, WRONG_RESULT is DATA_LOSS, LAUNCH is
// FAILED_PRECONDITION, DEVICE is UNAVAILABLE, MEMORY is RESOURCE_EXHAUSTED,
// REFERENCE is UNIMPLEMENTED, FAULT is ABORTED, all else is REQUEST and
// INTERNAL. Cannot fail.
v1::WorkerError ToWorkerError(const absl::Status& status);
absl::Status FromWorkerError(const v1::WorkerError& error);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_WORKER_ERROR_H_
