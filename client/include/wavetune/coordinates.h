// Where a problem lies in the wave model: what its launch looks like to the
// device, and which regime of tile rows it belongs to.
#ifndef WAVETUNE_COORDINATES_H_
#define WAVETUNE_COORDINATES_H_

#include <cstdint>
#include <limits>

namespace wavetune {

// Physical coordinates of a problem under a macro configuration.
struct Coordinates {
  int64_t tiles = 1;      // G, >= 1
  double iterations = 1;  // L = W / G, mean main-loop iterations per tile, > 0
  int64_t total_iterations = 1;  // W
  int64_t longest_loop = 1;      // iterations of the longest tile
  int64_t rows = 1;              // rows of tiles
  double row_fill = 1;  // fill of the last row, in (0, 1]; the mean fill over a
                        // repeated dimension
  // How much of a tile's loads depends on the rows of tiles around it, in
  // [0, 1]. It is 0 over a repeated dimension, whose rows share nothing, and
  // where there are no rows.
  double row_share = 0;
  // B, MiB that the problem reads cold, whatever the configuration; 0 where the
  // mapping does not count them.
  double cold_mib = 0;
  // True where tiles, iterations, the longest loop or bytes exceed
  // kExpressionLimit.
  // The other values are too small then and say nothing about the launch.
  bool saturated = false;

  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

// A problem belongs to the first regime with rows <= max_rows and fill of the
// last row <= max_fill. The last regime takes everything.
struct RowRegime {
  int64_t max_rows = std::numeric_limits<int64_t>::max();
  double max_fill = 1;

  friend bool operator==(const RowRegime&, const RowRegime&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_COORDINATES_H_
