// Tensor maps (CUtensorMap) of a launch.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TENSOR_MAP_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TENSOR_MAP_H_

#include <cuda.h>

#include <optional>

#include "absl/status/statusor.h"
#include "model/kernel/argument.h"
#include "model/kernel/tensor_map_plan.h"
#include "profiler_agent/cuda/cuda_driver.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Returns the map but for its address, or nothing where the manifest passes
// zeros instead. Errors: FAILED_PRECONDITION, with the map's argument, for maps
// beyond the hardware. Their rows are no multiple of 16 bytes, or a box has
// more than 256 elements a side or is wider than the swizzle.
absl::StatusOr<std::optional<TensorMapPlan>> TensorMapPlanOf(
    const KernelSpec& spec, const TensorMap& map,
    const Configuration& configuration, const Problem& problem);

// Returns the map over `address`. Elements outside read as zero. Errors: as
// CudaStatus.
absl::StatusOr<CUtensorMap> EncodeTensorMap(const CudaDriver& driver,
                                            const TensorMapPlan& plan,
                                            CUdeviceptr address);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TENSOR_MAP_H_
