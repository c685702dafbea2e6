// TensorMapPlan: the numbers of a CUDA tensor map at one launch, and whether
// the hardware takes them.
//
// What measures a kernel and what launches it in earnest encode the same maps;
// each turns these numbers into the driver's types.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_TENSOR_MAP_PLAN_H_
#define WAVETUNE_MODEL_KERNEL_TENSOR_MAP_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/argument.h"
#include "model/kernel/mapping.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// Where a tensor map's address must lie (cuda.h, cuTensorMapEncodeTiled,
// without interleaving).
inline constexpr int64_t kTensorMapAlignment = 16;

// A map under one configuration: only the problem is left open.
struct TensorMapDescriptor {
  int32_t argument = 0;                 // Index of a buffer.
  std::vector<Expression> extents;      // Elements, over dimensions; the
                                        // contiguous one first.
  std::array<int64_t, 2> box = {1, 1};  // Elements.
  TensorMap::Swizzle swizzle = TensorMap::Swizzle::kNone;
  int32_t l2_promotion_bytes = 0;  // 0, 64, 128 or 256.
  bool enabled = true;             // Else the kernel gets zeros.

  friend bool operator==(const TensorMapDescriptor&,
                         const TensorMapDescriptor&) = default;
};

// A map but for its address: two-dimensional, row major, dense, the contiguous
// dimension first, element strides of 1.
struct TensorMapPlan {
  ElementType type = ElementType::kFloat32;
  std::array<uint64_t, 2> extents = {1, 1};  // Elements.
  uint64_t row_bytes = 0;
  std::array<uint32_t, 2> box = {1, 1};  // Elements.
  TensorMap::Swizzle swizzle = TensorMap::Swizzle::kNone;
  int32_t l2_promotion_bytes = 0;

  friend bool operator==(const TensorMapPlan&, const TensorMapPlan&) = default;
};

// Returns the map under a configuration of its kernel's space. Cannot fail:
// PlanTensorMap says what is wrong with it.
TensorMapDescriptor DescribeTensorMap(const TensorMap& map,
                                      const Configuration& configuration);

// Returns an enabled map over `argument` at a problem. Errors:
// FAILED_PRECONDITION, naming the argument, for maps beyond the hardware. Their
// rows are no multiple of 16 bytes, or a box has more than 256 elements a side
// or is wider than the swizzle. Cost: no allocation but for an error.
absl::StatusOr<TensorMapPlan> PlanTensorMap(const TensorMapDescriptor& map,
                                            const Argument& argument,
                                            const ProblemView& problem);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_TENSOR_MAP_PLAN_H_
