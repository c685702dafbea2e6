// Tensor maps (CUtensorMap) of a launch.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TENSOR_MAP_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TENSOR_MAP_H_

#include <cuda.h>

#include <array>
#include <optional>

#include "absl/status/statusor.h"
#include "model/configuration.h"
#include "model/kernel_spec.h"
#include "model/problem.h"
#include "profiler_agent/cuda/cuda_driver.h"

namespace wavetune {

// A map but for its address, as the driver takes it: two-dimensional, row
// major, dense, the contiguous dimension first.
struct TensorMapShape {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  std::array<cuuint64_t, 2> extents = {1, 1};  // Elements.
  cuuint64_t row_bytes = 0;
  std::array<cuuint32_t, 2> box = {1, 1};  // Elements.
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;

  friend bool operator==(const TensorMapShape&,
                         const TensorMapShape&) = default;
};

// Returns the shape of a map, or nothing where the manifest passes zeros
// instead. Errors: FAILED_PRECONDITION for what the hardware cannot do (rows
// that are no multiple of 16 bytes, a box with more than 256 elements a side or
// wider than the swizzle), with the map's argument.
absl::StatusOr<std::optional<TensorMapShape>> TensorMapShapeOf(
    const KernelSpec& spec, const TensorMap& map,
    const Configuration& configuration, const Problem& problem);

// Returns the map over `address`. Elements outside read as zero. Errors: as
// CudaStatus.
absl::StatusOr<CUtensorMap> EncodeTensorMap(const CudaDriver& driver,
                                            const TensorMapShape& shape,
                                            CUdeviceptr address);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_TENSOR_MAP_H_
