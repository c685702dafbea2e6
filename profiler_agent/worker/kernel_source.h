// KernelSource of the wire <-> LoadedKernel.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_KERNEL_SOURCE_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_KERNEL_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "profiler_agent/measure/backend.h"
#include "proto/wavetune/v1/agent_service.pb.h"

namespace wavetune {

// Errors: INVALID_ARGUMENT listing what the spec lacks.
absl::StatusOr<LoadedKernel> LoadedKernelFromProto(
    const v1::KernelSource& proto, const std::string& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_KERNEL_SOURCE_H_
