// How many tiles an axis of a mapping has at an extent, under one configuration
// and with its other dimensions held.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_AXIS_TILES_H_
#define WAVETUNE_MODEL_KERNEL_AXIS_TILES_H_

#include <cstdint>

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

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_AXIS_TILES_H_
