#include "model/decide/row_classes.h"

#include <algorithm>

#include "absl/types/span.h"
#include "model/kernel/mapping.h"
#include "model/table/wave_model.h"

namespace wavetune {

size_t RowRegimeOfExtent(const SubTable& sub, int64_t tile, int64_t extent) {
  if (extent == 0) return static_cast<size_t>(RowRegimeIndex(sub, 1, 1));
  const int64_t rows = (extent + tile - 1) / tile;
  const double fill = static_cast<double>(extent - (rows - 1) * tile) /
                      static_cast<double>(tile);
  return static_cast<size_t>(RowRegimeIndex(sub, rows, fill));
}

RowClasses::RowClasses(const SubTable& sub, int repeated_dimension)
    : source_(&sub) {
  for (size_t i = 0; i + 1 < sub.row_regimes.size(); ++i) {
    most_bounded_rows_ = std::max(
        most_bounded_rows_, static_cast<double>(sub.row_regimes[i].max_rows));
  }
  if (!sub.mapping.rows) return;
  dimension_ = sub.mapping.rows->dimension;
  repeated_ = dimension_ == repeated_dimension;
}

int RowClasses::Add(const Configuration& configuration) {
  const int64_t tile =
      dimension_ >= 0 ? configuration[source_->mapping.rows->tile] : 1;
  for (size_t i = 0; i < tiles_.size(); ++i) {
    if (tiles_[i].divisor() == tile) return static_cast<int>(i);
  }
  tiles_.emplace_back(tile);
  return static_cast<int>(tiles_.size()) - 1;
}

size_t RowClasses::RegimeOfElements(
    const ConstantDivider& tile,
    absl::Span<const int64_t> extents) const noexcept {
  int64_t rows = 0;
  int64_t filled = 0;
  double fill = 0;
  for (const int64_t extent : extents) {
    if (extent == 0) continue;
    const int64_t own = tile.CeilDiv(extent);
    rows = std::min(rows + own, kExpressionLimit);
    fill += static_cast<double>(extent - (own - 1) * tile.divisor()) /
            static_cast<double>(tile.divisor());
    ++filled;
  }
  return static_cast<size_t>(
      filled == 0
          ? RowRegimeIndex(*source_, 1, 1)
          : RowRegimeIndex(*source_, rows, fill / static_cast<double>(filled)));
}

void RowClasses::FindRegimes(const ProblemView& problem,
                             uint8_t* regimes) const noexcept {
  if (!varies()) {
    const auto regime = static_cast<uint8_t>(RowRegimeIndex(*source_, 1, 1));
    std::fill_n(regimes, tiles_.size(), regime);
    return;
  }
  const absl::Span<const int64_t> extents =
      repeated_ ? problem.repeated
                : problem.extents.subspan(static_cast<size_t>(dimension_), 1);
  for (size_t i = 0; i < tiles_.size(); ++i) {
    regimes[i] = static_cast<uint8_t>(RegimeOfElements(tiles_[i], extents));
  }
}

// A mean of fills is at most 1: none is above, and rounding a sum of n numbers
// up to 1 gives at most n.
uint8_t RowClasses::RegimeOfSum(int row_class, double rows,
                                const ProblemView& problem) const noexcept {
  const std::vector<RowRegime>& regimes = source_->row_regimes;
  const double at_least_one = rows > 1 ? rows : 1;
  for (size_t i = 0; i + 1 < regimes.size(); ++i) {
    if (at_least_one > static_cast<double>(regimes[i].max_rows)) continue;
    if (regimes[i].max_fill >= 1) return static_cast<uint8_t>(i);
    // Few rows, hence few elements with any.
    return static_cast<uint8_t>(RegimeOfElements(
        tiles_[static_cast<size_t>(row_class)], problem.repeated));
  }
  return static_cast<uint8_t>(regimes.size() - 1);
}

}  // namespace wavetune
