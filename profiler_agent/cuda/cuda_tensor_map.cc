#include "profiler_agent/cuda/cuda_tensor_map.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/mapping.h"
#include "model/status_macros.h"
#include "profiler_agent/buffer_values.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

// Limits of cuTensorMapEncodeTiled (cuda.h), which answers a breach with
// CUDA_ERROR_INVALID_VALUE and no word on which.
constexpr int64_t kMaxExtent = int64_t{1} << 32;
constexpr int64_t kMaxRowBytes = int64_t{1} << 40;
constexpr int64_t kMaxBox = 256;
constexpr int64_t kUnitBytes = 16;

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

struct SwizzleMode {
  CUtensorMapSwizzle mode;
  int64_t bytes;  // The widest box; 0: any.
};

SwizzleMode SwizzleOf(TensorMap::Swizzle swizzle) {
  switch (swizzle) {
    case TensorMap::Swizzle::k32Bytes:
      return {CU_TENSOR_MAP_SWIZZLE_32B, 32};
    case TensorMap::Swizzle::k64Bytes:
      return {CU_TENSOR_MAP_SWIZZLE_64B, 64};
    case TensorMap::Swizzle::k128Bytes:
      return {CU_TENSOR_MAP_SWIZZLE_128B, 128};
    case TensorMap::Swizzle::kNone:
      break;
  }
  return {CU_TENSOR_MAP_SWIZZLE_NONE, 0};
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

absl::Status Impossible(const Argument& argument, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the tensor map of argument '", argument.name, "' ", why));
}

absl::Status CheckLimits(const Argument& argument, int64_t width,
                         int64_t height, const TensorMapShape& shape,
                         int64_t swizzle_bytes) {
  const auto element = static_cast<int64_t>(ElementBytes(argument.type));
  const int64_t row_bytes = width * element;
  if (width < 1 || height < 1 || width > kMaxExtent || height > kMaxExtent ||
      row_bytes >= kMaxRowBytes) {
    return Impossible(argument, absl::StrCat("has extents of ", width, " x ",
                                             height, "; at most 2^32 will do"));
  }
  if (row_bytes % kUnitBytes != 0) {
    return Impossible(argument,
                      absl::StrCat("has rows of ", row_bytes,
                                   " bytes, no multiple of 16; a problem "
                                   "predicate should exclude this problem"));
  }
  for (const cuuint32_t side : shape.box) {
    if (side >= 1 && side <= kMaxBox) continue;
    return Impossible(argument,
                      absl::StrCat("has a box of ", shape.box[0], " x ",
                                   shape.box[1], "; 1 to 256 will do"));
  }
  const int64_t box_bytes = shape.box[0] * element;
  if (box_bytes % kUnitBytes != 0 ||
      (swizzle_bytes > 0 && box_bytes > swizzle_bytes)) {
    return Impossible(argument,
                      absl::StrCat("has a box ", box_bytes,
                                   " bytes wide; it must be a multiple of 16, "
                                   "and no wider than the swizzle"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<TensorMapShape>> TensorMapShapeOf(
    const KernelSpec& spec, const TensorMap& map,
    const Configuration& configuration, const Problem& problem) {
  if (map.enabled_by.has_value() && configuration[*map.enabled_by] == 0) {
    return std::nullopt;
  }
  const Argument& argument = spec.arguments[static_cast<size_t>(map.argument)];
  if (map.extents.size() != 2 || map.box.size() != 2) {
    return Impossible(argument, "is not two-dimensional");
  }
  const ProblemView view = problem.View();
  const SwizzleMode swizzle = SwizzleOf(map.swizzle);
  TensorMapShape shape{.type = TypeOf(argument.type),
                       .swizzle = swizzle.mode,
                       .l2_promotion = PromotionOf(map.l2_promotion_bytes)};
  for (size_t i = 0; i < 2; ++i) {
    shape.extents[i] =
        static_cast<cuuint64_t>(Evaluate(map.extents[i], view, configuration));
    // Beyond 32 bits is beyond the limit, too: keep it so.
    shape.box[i] = static_cast<cuuint32_t>(std::min<int64_t>(
        Evaluate(map.box[i], view, configuration), kMaxBox + 1));
  }
  shape.row_bytes = shape.extents[0] * ElementBytes(argument.type);
  RETURN_IF_ERROR(CheckLimits(argument, static_cast<int64_t>(shape.extents[0]),
                              static_cast<int64_t>(shape.extents[1]), shape,
                              swizzle.bytes));
  return shape;
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
