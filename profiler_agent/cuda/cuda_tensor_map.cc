#include "profiler_agent/cuda/cuda_tensor_map.h"

#include <cstddef>

#include "base/status_macros.h"
#include "launch/tensor_map_encoding.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
absl::StatusOr<std::optional<TensorMapPlan>> TensorMapPlanOf(
    const KernelSpec& spec, const TensorMap& map,
    const Configuration& configuration, const Problem& problem) {
  if (map.enabled_by.has_value() && configuration[*map.enabled_by] == 0) {
    return std::nullopt;
  }
  return PlanTensorMap(DescribeTensorMap(map, configuration),
                       spec.arguments[static_cast<size_t>(map.argument)],
                       problem.View());
}

absl::StatusOr<CUtensorMap> EncodeTensorMap(const CudaDriver& driver,
                                            const TensorMapPlan& plan,
                                            CUdeviceptr address) {
  CUtensorMap map;
  RETURN_IF_ERROR(
      CudaStatus(EncodeTensorMap(driver.cuTensorMapEncodeTiled, plan,
                                 reinterpret_cast<void*>(address), &map),
                 "encoding a tensor map"));
  return map;
}

}  // namespace wavetune
