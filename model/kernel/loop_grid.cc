#include "model/kernel/loop_grid.h"

#include <algorithm>

namespace wavetune {
namespace {

// Counts that are tried around the wanted one, and around each smaller one.
constexpr int64_t kCountsTried = 64;
constexpr int64_t kSmallerCountsTried = 16;

// Returns the smallest grid with at least `count` tiles along axis `tied`.
std::vector<int64_t> GridWith(const std::vector<GridAxis>& axes, size_t tied,
                              int64_t count, int64_t wanted) {
  const int64_t own = axes[tied].Reach(count);
  if (own == 0) return {};
  std::vector<GridAxis> others = axes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(tied));
  const int64_t rest = DivideUp(wanted, own);
  std::vector<int64_t> grid = SmallestGrid(others, rest);
  if (grid.empty() && !(others.empty() && rest == 1)) return {};
  grid.insert(grid.begin() + static_cast<std::ptrdiff_t>(tied), own);
  return grid;
}

// Of grids with a third less to half more than `nearest` tiles along axis
// `tied` the one that has the fewest tiles, then the nearest.
std::vector<int64_t> GridNear(const std::vector<GridAxis>& axes, size_t tied,
                              int64_t nearest, int64_t tries, int64_t wanted) {
  const int64_t low = nearest - nearest / 3;
  const int64_t high =
      std::max(nearest, std::min(nearest + nearest / 2, wanted));
  const auto distance = [&](const std::vector<int64_t>& grid) {
    return std::max(grid[tied], nearest) - std::min(grid[tied], nearest);
  };
  std::vector<int64_t> best;
  const auto consider = [&](int64_t count) {
    if (count < low || count > high) return;
    std::vector<int64_t> grid = GridWith(axes, tied, count, wanted);
    if (grid.empty()) return;
    const int64_t tiles = ProductOf(grid);
    const int64_t least = best.empty() ? tiles + 1 : ProductOf(best);
    if (tiles < least || (tiles == least && distance(grid) < distance(best))) {
      best = std::move(grid);
    }
  };
  const int64_t step = std::max<int64_t>(1, (high - low) / tries);
  // The nearest first: no grid is better than one with the wanted tiles.
  for (int64_t away = 0; away <= high - low; away += step) {
    consider(nearest + away);
    if (away > 0) consider(nearest - away);
    if (!best.empty() && ProductOf(best) == wanted) break;
  }
  return best;
}

}  // namespace

std::vector<std::vector<int64_t>> GridsWithAxisNear(
    const std::vector<GridAxis>& axes, size_t axis, int64_t count,
    int64_t tiles) {
  std::vector<std::vector<int64_t>> grids;
  for (int64_t tries = kCountsTried; count > 0; count /= 2) {
    grids.push_back(GridNear(axes, axis, count, tries, tiles));
    tries = kSmallerCountsTried;
  }
  grids.push_back(SmallestGrid(axes, tiles));
  std::erase(grids, std::vector<int64_t>());
  return grids;
}

std::vector<std::vector<int64_t>> WithAllAlongOneAxis(
    const std::vector<int64_t>& grid, absl::Span<const GridAxis> axes,
    int64_t tiles) {
  if (grid.empty()) return {};
  std::vector<std::vector<int64_t>> grids{grid};
  for (size_t i = 0; axes.size() > 1 && i < axes.size(); ++i) {
    std::vector<int64_t> counts;
    for (const GridAxis& axis : axes) counts.push_back(axis.Reach(1));
    counts[i] = 1;
    const int64_t others = ProductOf(counts);
    if (others <= 0) continue;
    counts[i] = axes[i].Reach(DivideUp(tiles, others));
    if (counts[i] > 0 && ProductOf(counts) == ProductOf(grid)) {
      grids.push_back(std::move(counts));
    }
  }
  return grids;
}

}  // namespace wavetune
