#include "model/quick_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/exact_quotient.h"
#include "model/table_check.h"
#include "model/wave_model.h"

namespace wavetune {
namespace {

static_assert(QuickRecord::kMaxAnchors >= kMaxLoopAnchors);
static_assert(QuickLayout::kMaxThresholds >= kMaxLoopAnchors);

constexpr double kNever = std::numeric_limits<double>::infinity();

// A quotient that is 1 for every extent in [1, kLaneLimit].
constexpr double kNoQuotient = 0x1p-52;

// Above all tiles that lanes hold, and exact.
double TilesOfWaves(int64_t waves, int64_t capacity) {
  using Wide = __int128;
  const Wide tiles = Wide{std::max<int64_t>(0, waves)} * capacity;
  return static_cast<double>(
      static_cast<int64_t>(std::min(tiles, Wide{1} << 52)));
}

QuickRecord RecordOf(const WaveSegment& segment, int64_t capacity) {
  QuickRecord record;
  record.above_tiles =
      segment.min_wave <= 1 ? 0 : TilesOfWaves(segment.min_wave - 1, capacity);
  record.max_tiles = TilesOfWaves(segment.max_wave, capacity);
  record.min_iterations = segment.min_iterations;
  record.max_iterations = segment.max_iterations;
  record.bounds[0] = segment.relative_bound;
  record.bounds[1] = segment.extrapolated_bound;
  std::copy(segment.micro.begin(), segment.micro.end(), record.micro);
  return record;
}

// Returns the largest whole number of iterations that is no nearer to `after`
// than to `anchor`; 1 <= after - anchor, both at most kLaneLimit.
//
// Rounding is monotone: of whole numbers between both, those up to one agree;
// those before the first do; those after the second do not, as distances up to
// 2^51 that are 1 apart stay apart.
double LastNearest(double anchor, double after) {
  auto low = static_cast<int64_t>(std::floor(anchor));
  auto high = static_cast<int64_t>(std::ceil(after));
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    const auto at = static_cast<double>(middle);
    if (std::abs(at - after) < std::abs(at - anchor)) {
      high = middle - 1;
    } else {
      low = middle;
    }
  }
  return static_cast<double>(low);
}

// The largest constant of a product.
double Largest(const double* constants, size_t rows) {
  return *std::max_element(constants, constants + rows);
}

int WholeBlocks(size_t count) {
  return static_cast<int>((count + kBlockLanes - 1) / kBlockLanes) *
         kBlockLanes;
}

}  // namespace

QuickRows::QuickRows(const Parts& parts) {
  layout_.lanes = parts.layout.lanes;
  layout_.tie_factor = parts.layout.tie_factor;
  std::fill_n(layout_.thresholds, QuickLayout::kMaxThresholds, kNever);
  std::fill_n(layout_.anchor_thresholds, QuickLayout::kMaxThresholds, kNever);
  choose_ = parts.layout.overlaps ? parts.kernel.choose_quick_overlap
                                  : parts.kernel.choose_quick_sum;
  usual_ = parts.sub.groups.size() <= QuickLayout::kMaxRows &&
           parts.sub.max_waves.size() == 2 && SetAxes(parts) &&
           SetRanges(parts) && SetIntervals(parts) && SetAnchors(parts.sub);
  if (!usual_) return;
  SetConstants(parts);
  SetRecords(parts.sub);
  if (parts.predicates.FindLowBits([this](size_t dimension, uint64_t low_bits) {
        ranges_[dimension].low_bits |= low_bits;
      })) {
    left_ = 0;
  }
}

// The quotient that rows' regimes follow from comes first.
bool QuickRows::SetAxes(const Parts& parts) {
  const RowLayout& layout = parts.layout;
  if (!parts.program.fits() || layout.loop_is_total || layout.has_longest ||
      parts.table.dimensions.size() > kMaxExtents ||
      layout.tiles.factor_count < 1 || layout.tiles.factor_count > 2 ||
      layout.loop.factor_count > 1) {
    return false;
  }
  for (const Dimension& dimension : parts.table.dimensions) {
    if (dimension.repeated) return false;
  }
  const auto dimension_of = [&](const LaneProduct& product, int factor) {
    return factor < product.factor_count
               ? parts.program.DimensionOf(product.factors[factor])
               : 0;
  };
  layout_.rows_dimension = dimension_of(layout.tiles, 0);
  layout_.columns_dimension = dimension_of(layout.tiles, 1);
  layout_.loop_dimension = dimension_of(layout.loop, 0);
  if (layout_.rows_dimension < 0 || layout_.columns_dimension < 0 ||
      layout_.loop_dimension < 0) {
    return false;
  }
  if (!parts.classes.varies() ||
      parts.classes.dimension() == layout_.rows_dimension) {
    return true;
  }
  std::swap(layout_.rows_dimension, layout_.columns_dimension);
  return layout.tiles.factor_count == 2 &&
         parts.classes.dimension() == layout_.rows_dimension;
}

// No number exceeds kLaneLimit: quotients are at most their extents.
bool QuickRows::SetRanges(const Parts& parts) {
  const size_t rows = parts.sub.groups.size();
  const double most_tiles =
      kLaneLimit / Largest(parts.layout.tiles.constants, rows);
  const double most_loop =
      kLaneLimit / Largest(parts.layout.loop.constants, rows);
  const auto max_of = [&](int dimension) {
    return parts.table.dimensions[static_cast<size_t>(dimension)].max;
  };
  // The root's square may be rounded up: 1 less is not.
  const auto most_side = static_cast<int64_t>(std::sqrt(most_tiles)) - 1;
  const bool any_sides =
      static_cast<double>(max_of(layout_.rows_dimension)) *
          static_cast<double>(max_of(layout_.columns_dimension)) <=
      most_tiles;
  for (size_t i = 0; i < parts.table.dimensions.size(); ++i) {
    const Dimension& dimension = parts.table.dimensions[i];
    const auto index = static_cast<int>(i);
    int64_t min = dimension.min;
    int64_t max = dimension.max;
    if (index == layout_.rows_dimension || index == layout_.columns_dimension ||
        index == layout_.loop_dimension) {
      min = std::max<int64_t>(1, min);  // No quotient is 0.
      max = std::min(max, kExactQuotientLimit);
    }
    if (!any_sides && (index == layout_.rows_dimension ||
                       index == layout_.columns_dimension)) {
      max = std::min(max, most_side);
    }
    if (index == layout_.loop_dimension) {
      max = std::min(max, static_cast<int64_t>(most_loop));
    }
    if (max < min) return false;
    ranges_[i] = {static_cast<uint64_t>(min), static_cast<uint64_t>(max - min),
                  0};
  }
  return true;
}

bool QuickRows::SetIntervals(const Parts& parts) {
  const size_t rows = parts.sub.groups.size();
  std::vector<int> planes = parts.planes.plane_of_interval();
  if (planes.empty()) {
    if (parts.classes.varies()) return false;
    planes.push_back(parts.planes.UniformPlane(
        static_cast<size_t>(RowRegimeIndex(parts.sub, 1, 1))));
    if (planes[0] < 0) return false;
  }
  if (planes.size() > QuickLayout::kMaxThresholds) return false;
  for (size_t i = 0; i + 1 < planes.size(); ++i) {
    layout_.thresholds[i] = parts.planes.IntervalEnd(i);
  }
  layout_.threshold_lanes = WholeBlocks(planes.size() - 1);
  const auto most_planes =
      static_cast<size_t>(*std::max_element(planes.begin(), planes.end()) + 1);
  for (size_t plane = 0; plane < most_planes; ++plane) {
    for (size_t row = 0; row < rows; ++row) {
      const size_t regime = parts.planes.RegimeOf(static_cast<int>(plane), row);
      record_of_row_.push_back(static_cast<uint32_t>(
          (row * parts.sub.row_regimes.size() + regime) * 2));
    }
  }
  for (size_t i = 0; i < planes.size(); ++i) {
    layout_.intervals[i] = {
        parts.planes.Plane(planes[i]).blocks,
        record_of_row_.data() + static_cast<size_t>(planes[i]) * rows};
  }
  return true;
}

bool QuickRows::SetAnchors(const SubTable& sub) {
  const std::vector<double>& anchors = sub.loop_anchors;
  if (anchors.back() > kLaneLimit) return false;
  for (size_t i = 0; i + 1 < anchors.size(); ++i) {
    if (anchors[i + 1] - anchors[i] < 1) return false;
    layout_.anchor_thresholds[i] = LastNearest(anchors[i], anchors[i + 1]);
  }
  layout_.anchor_lanes = WholeBlocks(anchors.size() - 1);
  return true;
}

void QuickRows::SetConstants(const Parts& parts) {
  const RowLayout& layout = parts.layout;
  // The factor of a quotient, or nullptr.
  const auto factor_of = [&](const LaneProduct& product,
                             int factor) -> const double* {
    return factor < product.factor_count ? product.factors[factor].inverse
                                         : nullptr;
  };
  // Axes may have changed places.
  const bool swapped = parts.program.DimensionOf(layout.tiles.factors[0]) !=
                       layout_.rows_dimension;
  const double* const sources[kQuickColumns] = {
      factor_of(layout.tiles, swapped ? 1 : 0),
      factor_of(layout.tiles, swapped ? 0 : 1),
      factor_of(layout.loop, 0),
      layout.tiles.constants,
      layout.loop.constants,
      layout.capacity,
      layout.inverse_capacity};
  constants_.resize(
      static_cast<size_t>(layout.lanes / kBlockLanes * kQuickColumns));
  for (int lane = 0; lane < layout.lanes; ++lane) {
    LaneBlock* const block =
        constants_.data() + lane / kBlockLanes * kQuickColumns;
    for (int column = 0; column < kQuickColumns; ++column) {
      block[column].lane[lane % kBlockLanes] =
          sources[column] == nullptr ? kNoQuotient : sources[column][lane];
    }
    const size_t row =
        static_cast<size_t>(lane) < parts.sub.groups.size() ? lane : 0;
    layout_.first_regime_tiles[lane] =
        TilesOfWaves(parts.sub.max_waves[0], parts.sub.groups[row].capacity);
  }
  layout_.constants = constants_.data();
}

void QuickRows::SetRecords(const SubTable& sub) {
  for (const MacroGroup& group : sub.groups) {
    for (const TableRow& row : group.rows) {
      for (const WaveSegment& segment : row.segments) {
        records_.push_back(RecordOf(segment, group.capacity));
      }
    }
  }
  layout_.records = records_.data();
}

bool QuickRows::ChooseAmong(const ProblemView& problem,
                            const uint64_t* excluded,
                            RowAnswer& answer) const noexcept {
  if (!usual_) return false;
  for (size_t i = 0; i < problem.extents.size(); ++i) {
    if (ranges_[i].Lacks(problem.extents[i])) return false;
  }
  choose_(layout_, problem.extents.data(), excluded, answer);
  return true;
}

}  // namespace wavetune
