// The shape of a CUDA launch within the limits of a device. Pure.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_LAUNCH_SHAPE_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_LAUNCH_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "model/kernel/launch_descriptor.h"
#include "profiler_agent/cuda/triton/triton_kernel.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Implementation;
struct KernelSpec;

using CudaLaunchShape = LaunchShape;

// Returns the shape of a launch: blocks default to the mapping's tiles. What
// Triton decided (threads, shared memory) is in `triton`. Errors:
// FAILED_PRECONDITION where the device's limits are exceeded (says which).
absl::StatusOr<CudaLaunchShape> CudaShapeOf(
    const KernelSpec& spec, const Implementation& implementation,
    const std::string& specialisation, const Configuration& configuration,
    const Problem& problem, const DeviceFacts& facts,
    const std::optional<TritonLaunch>& triton = std::nullopt);

// Returns the shape of a reference of one work item per index: the largest
// group up to 256 that divides `work_items`, as a reference need not tolerate
// more of them.
CudaLaunchShape ReferenceShape(int64_t work_items);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_LAUNCH_SHAPE_H_
