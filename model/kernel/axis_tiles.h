// How many tiles an axis of a mapping has at an extent, under one configuration
// and with its other dimensions held. Grids that are chosen for more than their
// number of tiles: the loop follows an axis, or arguments would hold too much.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_AXIS_TILES_H_
#define WAVETUNE_MODEL_KERNEL_AXIS_TILES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/kernel/mapping_structure.h"
#include "model/kernel/tile_grid.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

// Returns the axis with its companions at `held` (an extent for each dimension;
// the others are not read). Cannot fail. Cost: some allocations.
GridAxis MakeGridAxis(const KernelSpec& spec, const TileAxis& axis,
                      const Configuration& configuration,
                      absl::Span<const int64_t> held);

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

#endif  // WAVETUNE_MODEL_KERNEL_AXIS_TILES_H_
