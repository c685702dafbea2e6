// DeviceState of an NVIDIA GPU, from NVML alone: no context is opened.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TELEMETRY_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TELEMETRY_H_

#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "profiler_agent/cuda/nvml.h"
#include "profiler_agent/cuda/other_processes.h"

namespace wavetune {

// Returns what `device` does right now; what NVML does not say stays unknown.
// `view` is of the agent's processes. Errors: UNAVAILABLE where the GPU is lost
// or must be reset.
absl::StatusOr<DeviceState> ReadTelemetryOf(const NvmlDevice& device,
                                            const ProcessView& view);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TELEMETRY_H_
