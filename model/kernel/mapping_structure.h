// MappingStructure: what drives what in a mapping, found once so that the
// mapping can be inverted.
//
// G is a product of fixed factors (constants, parameters) and tile axes. Most
// axes are a dimension, or a ceil_div of it, or the sum of that over the
// repeated dimension. Factors that share a dimension are one axis, and a factor
// may be a sum. One dimension of an axis is searched, the others are held. The
// loop is driven by another dimension, by one of the tiles' (self-attention:
// then G and L are not free of each other), or by none. None drives it in a
// kernel without a loop, or whose loop is compiled in. The other dimensions
// (for example the number of key heads) only size arguments.
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

// Factors of G that grow with a dimension.
struct TileAxis {
  int32_t dimension = 0;            // Its extent sets the number of tiles.
  std::vector<int32_t> companions;  // Further dimensions; held.
  std::vector<const Expression*> factors;  // Their product is the tiles.
  // The sum over the repeated dimension around all factors, if there is one.
  const Expression* sum = nullptr;

  // Returns the factor whose tiles follow from the extent by one division: a
  // kDimension, or a kCeilDiv of a product in which no dimension stands twice.
  // nullptr where the axis is more than that.
  const Expression* Quotient() const;
};

// One of several dimensions in an axis is searched: the repeated one, else the
// one of the rows. Else it is the one whose extents differ most over the
// representative problems (the largest over the smallest), else the one
// declared first. Of several in the loop one that is divided into iterations
// (the keys of causal_blocks first), of these the same. The order of factors
// does not matter.
struct MappingStructure {
  std::vector<const Expression*> fixed;  // Factors without a dimension.
  std::vector<TileAxis> axes;
  int rows_axis = -1;  // Index into axes; -1 without rows.
  // Drives the main loop and no tiles; -1: there is none.
  int32_t loop_dimension = -1;
  int loop_axis = -1;  // Without that: the axis that the loop follows, or -1.
  // Where causal_blocks counts the loop: its queries, else -1. Fewer keys than
  // queries are defined, but no one asks for them, and their tiles are so
  // unequal that a latency there says nothing of other problems.
  int32_t loop_floor = -1;
  std::vector<int32_t> loop_others;  // Further dimensions of the loop only.
  std::vector<int32_t> passive;  // Dimensions of arguments or predicates only.
};

// Whether all dimensions of the loop have tiles, too, so that L follows from
// them. Cannot fail.
bool LoopFollowsTiles(const Mapping& mapping);

// Returns the structure. Errors: INVALID_ARGUMENT as CheckInvertible
// (mapping_inverse.h).
absl::StatusOr<MappingStructure> AnalyseMapping(const KernelSpec& spec,
                                                const Mapping& mapping);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_MAPPING_STRUCTURE_H_
