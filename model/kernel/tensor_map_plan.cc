#include "model/kernel/tensor_map_plan.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "model/kernel/argument.h"
#include "model/kernel/fold.h"

namespace wavetune {
namespace {

// Limits of cuTensorMapEncodeTiled (cuda.h), which answers a breach with
// CUDA_ERROR_INVALID_VALUE and no word on which.
constexpr int64_t kMaxExtent = int64_t{1} << 32;
constexpr int64_t kMaxRowBytes = int64_t{1} << 40;
constexpr int64_t kMaxBox = 256;
constexpr int64_t kUnitBytes = 16;

// The widest box; 0: any.
int64_t SwizzleBytes(TensorMap::Swizzle swizzle) {
  switch (swizzle) {
    case TensorMap::Swizzle::k32Bytes:
      return 32;
    case TensorMap::Swizzle::k64Bytes:
      return 64;
    case TensorMap::Swizzle::k128Bytes:
      return 128;
    case TensorMap::Swizzle::kNone:
      break;
  }
  return 0;
}

absl::Status Impossible(const Argument& argument, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the tensor map of argument '", argument.name, "' ", why));
}

absl::Status CheckExtents(const Argument& argument, int64_t width,
                          int64_t height) {
  const int64_t row_bytes =
      width * static_cast<int64_t>(ElementBytes(argument.type));
  if (width < 1 || height < 1 || width > kMaxExtent || height > kMaxExtent ||
      row_bytes >= kMaxRowBytes) {
    return Impossible(argument, absl::StrCat("has extents of ", width, " x ",
                                             height, "; at most 2^32 will do"));
  }
  if (row_bytes % kUnitBytes == 0) return absl::OkStatus();
  return Impossible(argument,
                    absl::StrCat("has rows of ", row_bytes,
                                 " bytes, no multiple of 16; a problem "
                                 "predicate should exclude this problem"));
}

absl::Status CheckBox(const Argument& argument,
                      const TensorMapDescriptor& map) {
  for (const int64_t side : map.box) {
    if (side >= 1 && side <= kMaxBox) continue;
    return Impossible(argument, absl::StrCat("has a box of ", map.box[0], " x ",
                                             map.box[1], "; 1 to 256 will do"));
  }
  const int64_t swizzle_bytes = SwizzleBytes(map.swizzle);
  const int64_t box_bytes =
      map.box[0] * static_cast<int64_t>(ElementBytes(argument.type));
  if (box_bytes % kUnitBytes == 0 &&
      (swizzle_bytes == 0 || box_bytes <= swizzle_bytes)) {
    return absl::OkStatus();
  }
  return Impossible(argument,
                    absl::StrCat("has a box ", box_bytes,
                                 " bytes wide; it must be a multiple of 16, "
                                 "and no wider than the swizzle"));
}

}  // namespace

TensorMapDescriptor DescribeTensorMap(const TensorMap& map,
                                      const Configuration& configuration) {
  TensorMapDescriptor described{.argument = map.argument,
                                .swizzle = map.swizzle,
                                .l2_promotion_bytes = map.l2_promotion_bytes,
                                .enabled = !map.enabled_by.has_value() ||
                                           configuration[*map.enabled_by] != 0};
  for (const Expression& extent : map.extents) {
    described.extents.push_back(FoldExpression(extent, configuration));
  }
  // Over parameters only.
  for (size_t i = 0; i < std::min(map.box.size(), described.box.size()); ++i) {
    described.box[i] = Evaluate(map.box[i], ProblemView(), configuration);
  }
  return described;
}

absl::StatusOr<TensorMapPlan> PlanTensorMap(const TensorMapDescriptor& map,
                                            const Argument& argument,
                                            const ProblemView& problem) {
  if (map.extents.size() != 2) {
    return Impossible(argument, "is not two-dimensional");
  }
  const int64_t width = Evaluate(map.extents[0], problem, Configuration());
  const int64_t height = Evaluate(map.extents[1], problem, Configuration());
  RETURN_IF_ERROR(CheckExtents(argument, width, height));
  RETURN_IF_ERROR(CheckBox(argument, map));
  TensorMapPlan plan{.type = argument.type,
                     .swizzle = map.swizzle,
                     .l2_promotion_bytes = map.l2_promotion_bytes};
  plan.extents = {static_cast<uint64_t>(width), static_cast<uint64_t>(height)};
  plan.row_bytes = plan.extents[0] * ElementBytes(argument.type);
  plan.box = {static_cast<uint32_t>(map.box[0]),
              static_cast<uint32_t>(map.box[1])};
  return plan;
}

}  // namespace wavetune
