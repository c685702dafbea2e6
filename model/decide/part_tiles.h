// PartTiles: which problems fill less than half of a tile.
//
// Why: a problem of 5 columns has as many tiles, 1, as one of 320 under tiles
// of 320 columns, and lies within the measured waves. But full tiles were
// measured, and the kernel may take another path or another time. Such an
// answer is extrapolated. From half a tile on it counts as measured, as half of
// the fewest iterations do (fit/models/candidate_model.cc).
//
// It looks at the quotients ceil(dimension / tile) of the mapping's tiles and
// loop. Left out are the rows' dimension, whose fill row regimes tell apart,
// and repeated ones, whose lists of elements are never alike.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_PART_TILES_H_
#define WAVETUNE_MODEL_DECIDE_PART_TILES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/table/table.h"

namespace wavetune {

class PartTiles {
 public:
  // `sub` is one of a table that CheckTable accepts; it need not outlive this.
  explicit PartTiles(const SubTable& sub);

  // Returns whether the problem fills less than half of a tile of `group`.
  // `extents` are as many as the kernel's dimensions. Cannot fail. Cost: a
  // comparison for each dimension that drives tiles or loop.
  bool AreOf(size_t group, const int64_t* extents) const noexcept {
    for (const Axis& axis : axes_) {
      const int64_t extent = extents[axis.dimension];
      if (extent < axis.most && extent < axis.least[group]) return true;
    }
    return false;
  }

  // Returns the extent of a dimension from which on AreOf is false whatever the
  // group; at least 1. Cannot fail.
  int64_t EnoughOf(size_t dimension) const;

 private:
  struct Axis {
    size_t dimension = 0;
    int64_t most = 1;            // The most in `least`.
    std::vector<int64_t> least;  // By group: the extent of half a tile.
  };

  std::vector<Axis> axes_;  // One for each dimension at most.
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_PART_TILES_H_
