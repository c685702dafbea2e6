#include "profiler_agent/cuda/cuda_tensor_map.h"

#include <cstddef>
#include <cstdint>

#include "model/status_macros.h"
#include "model/tensor_map_plan.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

CUtensorMapDataType TypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case ElementType::kInt32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ElementType::kInt64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case ElementType::kBfloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle SwizzleOf(TensorMap::Swizzle swizzle) {
  switch (swizzle) {
    case TensorMap::Swizzle::k32Bytes:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case TensorMap::Swizzle::k64Bytes:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case TensorMap::Swizzle::k128Bytes:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case TensorMap::Swizzle::kNone:
      break;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMapL2promotion PromotionOf(int32_t bytes) {
  switch (bytes) {
    case 64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

}  // namespace

absl::StatusOr<std::optional<TensorMapShape>> TensorMapShapeOf(
    const KernelSpec& spec, const TensorMap& map,
    const Configuration& configuration, const Problem& problem) {
  if (map.enabled_by.has_value() && configuration[*map.enabled_by] == 0) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(
      const TensorMapPlan plan,
      PlanTensorMap(DescribeTensorMap(map, configuration),
                    spec.arguments[static_cast<size_t>(map.argument)],
                    problem.View()));
  return TensorMapShape{.type = TypeOf(plan.type),
                        .extents = {plan.extents[0], plan.extents[1]},
                        .row_bytes = plan.row_bytes,
                        .box = {plan.box[0], plan.box[1]},
                        .swizzle = SwizzleOf(plan.swizzle),
                        .l2_promotion = PromotionOf(plan.l2_promotion_bytes)};
}

absl::StatusOr<CUtensorMap> EncodeTensorMap(const CudaDriver& driver,
                                            const TensorMapShape& shape,
                                            CUdeviceptr address) {
  constexpr cuuint32_t kElementStrides[2] = {1, 1};
  CUtensorMap map;
  RETURN_IF_ERROR(CudaStatus(
      driver.cuTensorMapEncodeTiled(
          &map, shape.type, 2, reinterpret_cast<void*>(address),
          shape.extents.data(), &shape.row_bytes, shape.box.data(),
          kElementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, shape.swizzle,
          shape.l2_promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "encoding a tensor map"));
  return map;
}

}  // namespace wavetune
