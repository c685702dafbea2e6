#include "launch/tensor_map_encoding.h"

#include <cstdint>

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
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
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

CUresult EncodeTensorMap(TensorMapEncoder encode, const TensorMapPlan& plan,
                         void* address, CUtensorMap* map) {
  constexpr cuuint32_t kElementStrides[2] = {1, 1};
  const cuuint64_t extents[2] = {plan.extents[0], plan.extents[1]};
  const cuuint64_t row_bytes = plan.row_bytes;
  return encode(map, TypeOf(plan.type), 2, address, extents, &row_bytes,
                plan.box.data(), kElementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                SwizzleOf(plan.swizzle), PromotionOf(plan.l2_promotion_bytes),
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace wavetune
