// Tile counts and loop counts of the grid around an anchor plan
// (fit/models/anchor_plan.h): where along the wave structure a recording
// measures.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_ANCHOR_GRID_H_
#define WAVETUNE_FIT_MODELS_ANCHOR_GRID_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavetune {

// A loop count, and how many places later than the first tile count its points
// come.
struct GridLoop {
  double iterations = 1;
  size_t delay = 0;
};

// How many places later each further fill of the last row comes.
inline constexpr size_t kGridFillDelay = 4;

// Returns distinct tile counts from 1 to `reach`, the most telling first.
// They are at and just past the ends of waves, at fractions of a wave, then
// those of `also`, then a ladder over the rest. `tiles_per_wave` >= 1. Cannot
// fail.
std::vector<int64_t> GridTileCounts(int64_t tiles_per_wave, int64_t reach,
                                    const std::vector<int64_t>& also);

// Returns loop counts from `low` to `high` (> 0), evenly in ratio: both ends
// first, those between them later; one where they are the same. Cannot fail.
std::vector<GridLoop> GridLoops(double low, double high);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ANCHOR_GRID_H_
