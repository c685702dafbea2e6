// Grids that are chosen for more than their number of tiles: because the loop
// follows one of the axes, or because of what arguments would hold.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_LOOP_GRID_H_
#define WAVETUNE_MODEL_KERNEL_LOOP_GRID_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/kernel/tile_grid.h"

namespace wavetune {

// Returns grids with at least `tiles` tiles, best first. First come those with
// about `count` of them along axis number `axis` (of a third less to half more
// the grid that has the fewest tiles, then the nearest). Then come the same
// with half of that, and so on, then the smallest grid. Empty where the axes
// allow none.
std::vector<std::vector<int64_t>> GridsWithAxisNear(
    const std::vector<GridAxis>& axes, size_t axis, int64_t count,
    int64_t tiles);

// Returns `grid`, then grids of the same product with all tiles along one axis.
// Arguments grow with some axes and not with others, so that these may fit
// limits that `grid` exceeds. Nothing where `grid` is empty.
std::vector<std::vector<int64_t>> WithAllAlongOneAxis(
    const std::vector<int64_t>& grid, absl::Span<const GridAxis> axes,
    int64_t tiles);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_LOOP_GRID_H_
