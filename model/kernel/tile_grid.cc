#include "model/kernel/tile_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

using I128 = __int128;

// More elements than this are no use to a planner.
constexpr int64_t kMaxElements = 4096;
constexpr int64_t kPreferredElements = 8;

// Bounds on the search; both are far above the grids that planners ask for.
constexpr int64_t kMaxCounts = 4096;       // Along one axis, of two.
constexpr int64_t kMaxCountsOfMany = 256;  // The same of three and more.

// floor(sqrt(value)), exactly, for 1 <= value <= kExpressionLimit.
int64_t IntegerRoot(int64_t value) {
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(value)));
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return root;
}

// Returns the first extent in [low, high] at which `holds`, which then stays
// true; true at `high`.
template <typename Condition>
int64_t FirstExtent(int64_t low, int64_t high, Condition holds) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

int64_t UpToLimit(I128 value) {
  return static_cast<int64_t>(std::min<I128>(value, kExpressionLimit));
}

int64_t LargestCount(const std::vector<int64_t>& counts) {
  return *std::max_element(counts.begin(), counts.end());
}

// Returns `first` followed by the smallest grid of the other axes that reaches
// `tiles` with it, or nothing.
std::vector<int64_t> GridStartingWith(int64_t first,
                                      absl::Span<const GridAxis> others,
                                      int64_t tiles) {
  if (first <= 0) return {};
  const std::vector<int64_t> rest =
      SmallestGrid(others, DivideUp(tiles, first));
  if (rest.empty()) return {};
  std::vector<int64_t> counts{first};
  counts.insert(counts.end(), rest.begin(), rest.end());
  return counts;
}

}  // namespace

int64_t GridAxis::Tiles(int64_t extent) const {
  if (tiles_of) return tiles_of(extent);
  const I128 quotient =
      (static_cast<I128>(coefficient) * extent + divisor - 1) / divisor;
  return UpToLimit(UpToLimit(quotient) * static_cast<I128>(factor) + offset);
}

int64_t GridAxis::SmallestExtent(int64_t tiles) const {
  if (tiles_of) {
    const auto enough = [&](int64_t extent) { return Tiles(extent) >= tiles; };
    return enough(max) ? FirstExtent(min, max, enough) : 0;
  }
  const int64_t steps = DivideUp(std::max<int64_t>(tiles - offset, 1), factor);
  const I128 extent = static_cast<I128>(steps - 1) * divisor / coefficient + 1;
  if (extent > max) return 0;
  return std::max(min, static_cast<int64_t>(extent));
}

int64_t GridAxis::LargestExtent(int64_t tiles) const {
  if (tiles_of) {
    const auto beyond = [&](int64_t extent) { return Tiles(extent) > tiles; };
    if (beyond(min)) return 0;
    return beyond(max) ? FirstExtent(min, max, beyond) - 1 : max;
  }
  const int64_t steps = std::max<int64_t>(tiles - offset, 0) / factor;
  const I128 extent = static_cast<I128>(steps) * divisor / coefficient;
  if (extent < min) return 0;
  return static_cast<int64_t>(std::min<I128>(extent, max));
}

int64_t GridAxis::Reach(int64_t tiles) const {
  if (!repeated) {
    const int64_t extent = SmallestExtent(tiles);
    return extent == 0 ? 0 : Tiles(extent);
  }
  I128 sum = 0;
  for (const int64_t own : Elements(tiles)) sum += own;
  return sum == 0 ? 0 : UpToLimit(sum + base);
}

std::vector<int64_t> GridAxis::Elements(int64_t tiles) const {
  tiles = std::max<int64_t>(1, tiles - base);
  const int64_t least = std::max<int64_t>(1, Tiles(min));
  const int64_t most = std::max<int64_t>(1, Tiles(max));
  int64_t count = std::clamp<int64_t>(tiles / least, 1, kPreferredElements);
  if (element_tiles > 0) {
    count = std::min(DivideUp(tiles, element_tiles), kMaxElements);
  }
  count = std::max(count, DivideUp(tiles, most));
  if (count > kMaxElements) return {};
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t wanted = tiles / count + (i < tiles % count ? 1 : 0);
    // At most Tiles(max), so an extent exists.
    elements.push_back(Tiles(SmallestExtent(wanted)));
  }
  return elements;
}

int64_t ProductOf(absl::Span<const int64_t> counts) {
  I128 product = 1;
  for (const int64_t count : counts) product = UpToLimit(product * count);
  return static_cast<int64_t>(product);
}

std::vector<int64_t> SmallestGrid(absl::Span<const GridAxis> axes,
                                  int64_t tiles) {
  if (axes.empty()) return {};
  if (axes.size() == 1) {
    const int64_t count = axes[0].Reach(tiles);
    if (count == 0) return {};
    return {count};
  }
  std::vector<int64_t> best;
  const auto consider = [&](int64_t first) {
    std::vector<int64_t> grid =
        GridStartingWith(axes[0].Reach(first), axes.subspan(1), tiles);
    if (grid.empty()) return;
    const int64_t product = ProductOf(grid);
    const int64_t least = best.empty() ? 0 : ProductOf(best);
    if (best.empty() || product < least ||
        (product == least && LargestCount(grid) < LargestCount(best))) {
      best = std::move(grid);
    }
  };
  const int64_t limit = std::min(
      IntegerRoot(tiles), axes.size() == 2 ? kMaxCounts : kMaxCountsOfMany);
  for (int64_t count = 1; count <= limit; ++count) {
    consider(count);
    consider(DivideUp(tiles, count));
  }
  // Where neither axis is wide enough for the counts above.
  consider(axes[0].Tiles(axes[0].max));
  return best;
}

std::vector<int64_t> SquareGrid(absl::Span<const GridAxis> axes,
                                int64_t tiles) {
  if (axes.size() < 2) return SmallestGrid(axes, tiles);
  std::vector<int64_t> best;
  int64_t best_product = 0;
  int64_t best_difference = 0;
  const int64_t root = IntegerRoot(tiles);
  // sqrt(tiles / 2.x) .. sqrt(2.x * tiles)
  const int64_t reach = std::min(root / 2 + 2, kMaxCounts);
  for (int64_t count = std::max<int64_t>(1, root - reach);
       count <= root + reach; ++count) {
    std::vector<int64_t> grid =
        GridStartingWith(axes[0].Reach(count), axes.subspan(1), tiles);
    if (grid.empty()) continue;
    const int64_t first = grid[0];
    const int64_t others = ProductOf(absl::MakeConstSpan(grid).subspan(1));
    const int64_t shorter = std::min(first, others);
    const int64_t longer = std::max(first, others);
    if (longer > 2 * shorter + 1) continue;
    const int64_t product = ProductOf(grid);
    if (best.empty() || product < best_product ||
        (product == best_product && longer - shorter < best_difference)) {
      best = std::move(grid);
      best_product = product;
      best_difference = longer - shorter;
    }
  }
  return best.empty() ? SmallestGrid(axes, tiles) : best;
}

}  // namespace wavetune
