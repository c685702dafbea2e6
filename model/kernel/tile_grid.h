// Tile counts along the axes of a grid: which extents give them, and which
// counts multiply to a wanted number of tiles.
#ifndef WAVETUNE_MODEL_KERNEL_TILE_GRID_H_
#define WAVETUNE_MODEL_KERNEL_TILE_GRID_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace wavetune {

// Returns the quotient, rounded up. The numerator is at least 0, the
// denominator at least 1; their sum does not overflow.
inline int64_t DivideUp(int64_t numerator, int64_t denominator) {
  return (numerator + denominator - 1) / denominator;
}

// An axis of the grid under one configuration. It has factor * ceil(coefficient
// * extent / divisor) + offset tiles for an extent in [min, max], or
// tiles_of(extent) where that is given. A repeated one has the sum of that over
// as many elements as wanted, and `base`. Coefficient, divisor and factor >= 1.
struct GridAxis {
  int32_t dimension = 0;
  int64_t coefficient = 1;
  int64_t divisor = 1;
  int64_t min = 1;
  int64_t max = 1;
  bool repeated = false;
  int64_t factor = 1;
  int64_t offset = 0;
  int64_t base = 0;  // A repeated axis's.
  // Never falls as the extent grows.
  std::function<int64_t(int64_t extent)> tiles_of;
  // Tiles that each element of a repeated axis should have about; 0: as many as
  // eight elements leave.
  int64_t element_tiles = 0;

  // Whether the tiles are the quotient alone.
  bool IsQuotient() const {
    return !tiles_of && factor == 1 && offset == 0 && base == 0;
  }
  // Returns the tiles of one extent.
  int64_t Tiles(int64_t extent) const;
  // Returns the smallest extent in range with at least `tiles` tiles, or 0.
  int64_t SmallestExtent(int64_t tiles) const;
  // Returns the largest extent in range with at most `tiles` tiles, or 0.
  int64_t LargestExtent(int64_t tiles) const;
  // Returns the smallest number of tiles >= `tiles` that the axis can have, or
  // 0 if there is none.
  int64_t Reach(int64_t tiles) const;
  // Returns the tiles of each element of a repeated axis: few elements (8 or
  // fewer unless their range or element_tiles demands more), alike but for one
  // tile. Empty if there is no such list.
  std::vector<int64_t> Elements(int64_t tiles) const;
};

// Returns tile counts, one per axis, with the smallest product >= `tiles` that
// the axes can have; among those the largest count is the smallest. Empty if
// there are none (or no axes). Cost: O(sqrt(tiles)) for two axes; three and
// more are searched coarsely above 65,536 tiles.
std::vector<int64_t> SmallestGrid(absl::Span<const GridAxis> axes,
                                  int64_t tiles);

// Returns tile counts with the smallest product >= `tiles` such that the first
// axis and the product of the others are nearly alike. The longer is at most
// twice the shorter plus one. SmallestGrid where the axes allow no such grid.
std::vector<int64_t> SquareGrid(absl::Span<const GridAxis> axes, int64_t tiles);

// Returns the product, saturated at kExpressionLimit.
int64_t ProductOf(absl::Span<const int64_t> counts);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_TILE_GRID_H_
