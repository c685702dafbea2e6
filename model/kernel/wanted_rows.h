// WantedRows: rows of tiles that a problem should have, and which extents have
// them.
//
// Thread safety: plain value, pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_WANTED_ROWS_H_
#define WAVETUNE_MODEL_KERNEL_WANTED_ROWS_H_

#include <cstdint>
#include <vector>

#include "model/kernel/tile_grid.h"

namespace wavetune {

struct WantedRows {
  int64_t rows = 0;  // 0: none are wanted, and nothing below is asked.
  int64_t tile = 1;  // Extent of a row.
  double fill = 1;   // Fill of the last one, up to 1.

  // Returns how much of the last row's extent is there, at least 1.
  int64_t FilledOfLast() const;

  // Whether the range of the rows' dimension allows these rows, and not only
  // their clusters.
  bool Allows(const GridAxis& axis) const;

  // Returns the tiles along the rows' axis that these rows have, or 0.
  int64_t Steps(const GridAxis& axis) const;

  // Returns the extents with these rows, one or one for each element, of an
  // axis whose tiles are more than its rows.
  std::vector<int64_t> Extents(const GridAxis& axis) const;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_WANTED_ROWS_H_
