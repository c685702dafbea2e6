// MappingStructure: what drives what in a mapping, found once so that the
// mapping can be inverted.
//
// G is a product of fixed factors (constants, parameters) and tile axes; an
// axis is a dimension, or a ceil_div of it, or the sum of that over the
// repeated dimension. Another dimension drives the loop, or none does: a kernel
// without a loop, or whose loop is compiled in. What is left (for example the
// number of key heads) only sizes arguments.
//
// Thread safety: plain values. A structure points into the mapping it was made
// from.
#ifndef WAVETUNE_MODEL_KERNEL_MAPPING_STRUCTURE_H_
#define WAVETUNE_MODEL_KERNEL_MAPPING_STRUCTURE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/mapping.h"

namespace wavetune {

struct KernelSpec;

// A factor of G that grows with a dimension.
struct TileAxis {
  int32_t dimension = 0;               // Its extent sets the number of tiles.
  std::vector<int32_t> companions;     // Multiplied with it; kept at minimum.
  const Expression* factor = nullptr;  // kDimension or kCeilDiv.
};

struct MappingStructure {
  std::vector<const Expression*> fixed;  // Factors without a dimension.
  std::vector<TileAxis> axes;
  int rows_axis = -1;           // Index into axes; -1 without rows.
  int32_t loop_dimension = -1;  // Drives the main loop; -1: nothing does.
  // Where causal_blocks counts the loop: its queries, else -1. Fewer keys than
  // queries are defined, but no one asks for them, and their tiles are so
  // unequal that a latency there says nothing of other problems.
  int32_t loop_floor = -1;
  std::vector<int32_t> loop_others;  // Further dimensions of the loop only.
  std::vector<int32_t> passive;  // Dimensions of arguments or predicates only.
};

// Returns the structure. Errors: INVALID_ARGUMENT as CheckInvertible
// (mapping_inverse.h).
absl::StatusOr<MappingStructure> AnalyseMapping(const KernelSpec& spec,
                                                const Mapping& mapping);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_MAPPING_STRUCTURE_H_
