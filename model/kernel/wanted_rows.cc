#include "model/kernel/wanted_rows.h"

#include <algorithm>

namespace wavetune {

int64_t WantedRows::FilledOfLast() const {
  const auto extent = static_cast<double>(tile);
  // Rounded by hand: lround is not the same everywhere, and this is positive.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  return std::max<int64_t>(1, static_cast<int64_t>(fill * extent + 0.5));
}

bool WantedRows::Allows(const GridAxis& axis) const {
  if (axis.repeated) return true;
  return ProductOf({rows, tile}) >= axis.min &&
         ProductOf({rows - 1, tile}) < axis.max;
}

int64_t WantedRows::Steps(const GridAxis& axis) const {
  if (!axis.IsQuotient()) {
    int64_t steps = axis.base;
    for (const int64_t extent : Extents(axis)) steps += axis.Tiles(extent);
    return steps;
  }
  // Clusters make several rows one step of the axis.
  const int64_t per_step = std::max<int64_t>(1, axis.divisor / tile);
  const int64_t steps = DivideUp(rows, per_step);
  return axis.Reach(steps) == steps ? steps : 0;
}

std::vector<int64_t> WantedRows::Extents(const GridAxis& axis) const {
  std::vector<int64_t> extents = {rows};
  if (axis.repeated) {
    extents =
        GridAxis{
            .divisor = tile, .min = axis.min, .max = axis.max, .repeated = true}
            .Elements(rows);
  }
  for (int64_t& own : extents) {
    own = std::clamp((own - 1) * tile + FilledOfLast(), axis.min, axis.max);
  }
  return extents;
}

}  // namespace wavetune
