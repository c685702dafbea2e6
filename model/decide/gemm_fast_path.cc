#include "model/decide/gemm_fast_path.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "model/decide/exact_quotient.h"
#include "model/kernel/mapping.h"
#include "model/table/table_check.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

// A fraction of a core's second-level cache. Fitted tables take a few pages.
constexpr size_t kMaxUnmeasuredBytes = 256 * 1024;

// A quotient that is 1 for every extent in [1, kLaneLimit].
constexpr double kNoQuotient = 0x1p-52;

// Above all tiles that lanes hold, and exact.
double TilesOfWaves(int64_t waves, int64_t tiles_per_wave) {
  using Wide = __int128;
  const Wide tiles = Wide{std::max<int64_t>(0, waves)} * tiles_per_wave;
  return static_cast<double>(
      static_cast<int64_t>(std::min(tiles, Wide{1} << 52)));
}

FastPathRecord RecordOf(const WaveSegment& segment, int64_t tiles_per_wave) {
  FastPathRecord record;
  record.min_tiles =
      segment.min_wave <= 1
          ? 0
          : TilesOfWaves(segment.min_wave - 1, tiles_per_wave) + 1;
  record.max_tiles = TilesOfWaves(segment.max_wave, tiles_per_wave);
  record.min_iterations = segment.min_iterations + 0.0;  // Not -0.
  record.max_iterations = segment.max_iterations + 0.0;
  record.bounds[0] = segment.relative_bound;
  record.bounds[1] = segment.extrapolated_bound;
  std::copy(segment.micro.begin(), segment.micro.end(), record.micro);
  return record;
}

// The largest constant of a product.
double Largest(const double* constants, size_t lanes) {
  return *std::max_element(constants, constants + lanes);
}

// Returns the waves above which neither segment was measured, where one number
// says it for both: the first segment's waves are at most `first_waves`, the
// second's more.
std::optional<int64_t> SharedMaxWave(const WaveSegment& first,
                                     const WaveSegment& second,
                                     int64_t first_waves) {
  // All iterations of the first are unmeasured whatever its waves.
  if (first.max_iterations == 0) return second.max_wave;
  if (first.max_wave >= first_waves) {
    return std::max(second.max_wave, first_waves);
  }
  if (second.max_wave <= first.max_wave) return first.max_wave;
  return std::nullopt;
}

// Whether SharedColumn says all.
bool AreAlike(const SubTable& sub) {
  if (sub.form != WaveForm::kOverlap) return false;
  for (const MacroGroup& group : sub.groups) {
    for (const GroupModel& model : group.models) {
      const WaveSegment& first = model.segments[0];
      const WaveSegment& second = model.segments[1];
      if (first.coefficients != second.coefficients ||
          first.step_tiles != second.step_tiles || first.min_wave > 1 ||
          second.min_wave > 1 ||
          !SharedMaxWave(first, second, sub.max_waves[0])) {
        return false;
      }
    }
  }
  return true;
}

// Returns the first of the indices up to `last` that `holds` is true of, as it
// is of all after it; or last + 1.
template <typename Holds>
int FirstIndex(int last, Holds holds) {
  int begin = 0;
  int end = last + 1;
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// The iterations of each lane's loop, by the index that an extent has in
// FastPathLayout::loop_class_of.
class LoopsByIndex {
 public:
  static constexpr int kLast = FastPathLayout::kIndices - 1;

  // `inverses` are InverseBelow of each lane's tile.
  LoopsByIndex(const double* inverses, size_t lanes) {
    uint64_t bits = 0;
    for (size_t lane = 0; lane < lanes; ++lane) {
      tiles_.push_back(std::llround(1 / inverses[lane]));
      bits |= static_cast<uint64_t>(tiles_.back());
    }
    shift_ = std::min(std::countr_zero(bits), kMaxShift);
  }

  size_t lanes() const { return tiles_.size(); }
  int shift() const { return shift_; }
  double At(size_t lane, int index) const {
    const int64_t extent = static_cast<int64_t>(index) << shift_;
    const int64_t iterations = (extent + tiles_[lane] - 1) / tiles_[lane];
    return static_cast<double>(iterations);
  }
  // The last index is that of all longer extents, too.
  bool Distinguishes(int64_t extent) const {
    return extent <= int64_t{kLast} << shift_;
  }

 private:
  static constexpr int kMaxShift = 40;  // So that no extent overflows.

  std::vector<int64_t> tiles_;
  int shift_ = 0;
};

// Returns the index that each class of loops begins at, ascending from 0; none
// where an extent up to `longest` has no index of its own that it would need.
std::vector<int> BeginsOfLoopClasses(const LoopsByIndex& loops,
                                     const std::vector<FastPathRecord>& records,
                                     int64_t longest) {
  constexpr int kLast = LoopsByIndex::kLast;
  std::set<int> begins = {0};
  for (size_t i = 0; i < records.size(); ++i) {
    const FastPathRecord& record = records[i];
    const size_t lane = i / (records.size() / loops.lanes());
    begins.insert(FirstIndex(kLast, [&](int index) {
      return loops.At(lane, index) >= record.min_iterations;
    }));
    begins.insert(FirstIndex(kLast, [&](int index) {
      return loops.At(lane, index) > record.max_iterations;
    }));
  }
  if (begins.erase(kLast + 1) != 0 && !loops.Distinguishes(longest)) return {};
  return {begins.begin(), begins.end()};
}

// `records` are those of each lane's two segments.
FastPathLanes UnmeasuredAt(const LoopsByIndex& loops, int index,
                           const FastPathRecord* const* records) {
  FastPathLanes unmeasured;
  for (size_t lane = 0; lane < loops.lanes(); ++lane) {
    const double iterations = loops.At(lane, index);
    const uint64_t bit = uint64_t{1} << (lane % 64);
    if (!records[2 * lane]->Measures(iterations)) {
      unmeasured.first[lane / 64] |= bit;
    }
    if (!records[2 * lane + 1]->Measures(iterations)) {
      unmeasured.second[lane / 64] |= bit;
    }
  }
  return unmeasured;
}

}  // namespace

GemmFastPath::GemmFastPath(const Parts& parts) {
  layout_.lanes = parts.layout.lanes;
  layout_.tie_factor = parts.layout.tie_factor;
  // A wary sub-table may decide twice.
  if (parts.sub.wary || parts.table.dimensions.size() != kExtents ||
      parts.sub.groups.size() > kMaxLanes || parts.sub.max_waves.size() != 2 ||
      !SetAxes(parts) || !SetRanges(parts) || !SetAnchors(parts.sub) ||
      !SetHeights(parts)) {
    return;
  }
  SetRecords(parts.sub);
  if (!SetIntervals(parts)) return;
  SetConstants(parts);
  if (AreAlike(parts.sub) && SetLoopClasses(parts)) {
    LayOutSharedColumns(parts.sub);
  }
  const auto find = !parts.layout.overlaps    ? parts.kernel.choose_fast_sum
                    : shared_columns_.empty() ? parts.kernel.choose_fast_overlap
                                              : parts.kernel.choose_fast_shared;
  choose_among_ = find(/*lanes=*/0);
  if (parts.predicates.FindLowBits([this](size_t dimension, uint64_t low_bits) {
        ranges_[dimension].low_bits |= low_bits;
      })) {
    choose_ = find(layout_.lanes);
  }
}

// The quotient that rows' regimes follow from comes first.
bool GemmFastPath::SetAxes(const Parts& parts) {
  const LaneLayout& layout = parts.layout;
  if (layout.loop_is_total || layout.has_longest ||
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
  const bool reads_rows =
      parts.classes.varies() || (layout.overlaps && parts.classes.share());
  if (!reads_rows || parts.classes.dimension() == layout_.rows_dimension) {
    return true;
  }
  std::swap(layout_.rows_dimension, layout_.columns_dimension);
  return layout.tiles.factor_count == 2 &&
         parts.classes.dimension() == layout_.rows_dimension;
}

// No number exceeds kLaneLimit: quotients are at most their extents.
bool GemmFastPath::SetRanges(const Parts& parts) {
  const size_t lanes = parts.sub.groups.size();
  const double most_tiles =
      kLaneLimit / Largest(parts.layout.tiles.constants, lanes);
  const double most_loop =
      kLaneLimit / Largest(parts.layout.loop.constants, lanes);
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
    // What fills less than half of a tile is extrapolated, which no record
    // says: that is for the general path.
    int64_t min = std::max(dimension.min, parts.part_tiles.EnoughOf(i));
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

bool GemmFastPath::SetIntervals(const Parts& parts) {
  const size_t lanes = parts.sub.groups.size();
  std::vector<int> planes = parts.planes.plane_of_interval();
  if (planes.empty()) {
    if (parts.classes.varies()) return false;
    planes.push_back(parts.planes.UniformPlane(
        static_cast<size_t>(RowRegimeIndex(parts.sub, 1, 1))));
    if (planes[0] < 0) return false;
  }
  // The last interval begins where an index of the layout is.
  constexpr int kLast = FastPathLayout::kIndices - 1;
  if (planes.size() > FastPathLayout::kMaxIntervals ||
      (planes.size() > 1 &&
       parts.planes.IntervalEnd(planes.size() - 2) >= kLast)) {
    return false;
  }
  size_t interval = 0;
  for (int extent = 0; extent <= kLast; ++extent) {
    while (interval + 1 < planes.size() &&
           extent > parts.planes.IntervalEnd(interval)) {
      ++interval;
    }
    layout_.interval_of[extent] = static_cast<uint8_t>(interval);
  }
  const auto most_planes =
      static_cast<size_t>(*std::max_element(planes.begin(), planes.end()) + 1);
  for (size_t plane = 0; plane < most_planes; ++plane) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      const size_t regime =
          parts.planes.RegimeOf(static_cast<int>(plane), lane);
      const size_t record = (lane * parts.sub.row_regimes.size() + regime) * 2;
      record_of_lane_.push_back(&records_[record]);
      record_of_lane_.push_back(&records_[record + 1]);
    }
  }
  for (size_t i = 0; i < planes.size(); ++i) {
    layout_.intervals[i] = {
        parts.planes.Plane(planes[i]).blocks,
        record_of_lane_.data() + static_cast<size_t>(planes[i]) * lanes * 2};
  }
  return true;
}

// Iterations are whole. From twice the last anchor on that one is the nearest:
// it is nearer than any before it by at least 1, which distances up to 2^51
// show (two of them round to numbers that are apart).
bool GemmFastPath::SetAnchors(const SubTable& sub) {
  const std::vector<double>& anchors = sub.loop_anchors;
  if (anchors.size() > FastPathRecord::kMaxAnchors) return false;
  for (size_t i = 0; i + 1 < anchors.size(); ++i) {
    if (anchors[i + 1] - anchors[i] < 1) return false;
  }
  constexpr int kLast = FastPathLayout::kIndices - 1;
  if (2 * anchors.back() > kLast) return false;
  for (int i = 0; i <= kLast; ++i) {
    layout_.anchor_of[i] =
        static_cast<uint8_t>(LoopAnchorIndex(sub, static_cast<double>(i)));
  }
  return true;
}

bool GemmFastPath::SetHeights(const Parts& parts) {
  const LaneLayout& layout = parts.layout;
  if (!layout.overlaps) return true;
  // ReferenceGroup 0 stands in for lanes without one.
  std::fill_n(layout_.height, FastPathLayout::kMaxHeights, layout.row_tile[0]);
  std::fill_n(layout_.inverse_height, FastPathLayout::kMaxHeights,
              layout.inverse_row_tile[0]);
  std::fill_n(layout_.height_of, layout_.lanes, parts.kernel.height_place(0));
  layout_.heights = 1;
  for (size_t lane = 0; lane < parts.sub.groups.size(); ++lane) {
    const double height = layout.row_tile[lane];
    const auto known = static_cast<int>(
        std::find(layout_.height, layout_.height + layout_.heights, height) -
        layout_.height);
    if (known == FastPathLayout::kMaxHeights) return false;
    layout_.height[known] = height;
    layout_.inverse_height[known] = layout.inverse_row_tile[lane];
    layout_.height_of[lane] = parts.kernel.height_place(known);
    layout_.heights = std::max(layout_.heights, known + 1);
  }
  return true;
}

// Which lanes were measured at an extent's iterations changes at few extents.
bool GemmFastPath::SetLoopClasses(const Parts& parts) {
  const LaneProduct& loop = parts.layout.loop;
  const size_t lanes = parts.sub.groups.size();
  if (loop.factor_count != 1 ||
      std::any_of(loop.constants, loop.constants + lanes,
                  [](double constant) { return constant != 1; })) {
    return false;
  }
  const LoopsByIndex loops(loop.factors[0].inverse, lanes);
  const int64_t longest =
      parts.table.dimensions[static_cast<size_t>(layout_.loop_dimension)].max;
  const std::vector<int> begins = BeginsOfLoopClasses(loops, records_, longest);
  const size_t planes = record_of_lane_.size() / (lanes * 2);
  if (begins.empty() ||
      planes * begins.size() * sizeof(FastPathLanes) > kMaxUnmeasuredBytes) {
    return false;
  }
  layout_.loop_shift = loops.shift();
  size_t next = 0;
  for (int index = 0; index < FastPathLayout::kIndices; ++index) {
    if (next < begins.size() && begins[next] == index) ++next;
    layout_.loop_class_of[index] = static_cast<uint16_t>(next - 1);
  }
  for (size_t plane = 0; plane < planes; ++plane) {
    for (const int begin : begins) {
      unmeasured_.push_back(
          UnmeasuredAt(loops, begin, &record_of_lane_[plane * lanes * 2]));
    }
  }
  for (FastPathInterval& interval : layout_.intervals) {
    if (interval.records == nullptr) continue;
    const auto lane = interval.records - record_of_lane_.data();
    const size_t plane = static_cast<size_t>(lane) / (lanes * 2);
    interval.unmeasured = &unmeasured_[plane * begins.size()];
  }
  return true;
}

void GemmFastPath::LayOutSharedColumns(const SubTable& sub) {
  const size_t blocks = static_cast<size_t>(layout_.lanes) / kBlockLanes;
  std::map<const LaneBlock*, size_t> begin_of;  // In shared_columns_.
  for (const FastPathInterval& interval : layout_.intervals) {
    if (interval.segments == nullptr) continue;
    const size_t begin = begin_of.size() * blocks * kSharedColumns;
    begin_of.try_emplace(interval.segments, begin);
  }
  shared_columns_.resize(begin_of.size() * blocks * kSharedColumns);
  for (const auto& [plane, begin] : begin_of) {
    for (size_t b = 0; b < blocks; ++b) {
      const LaneBlock* const first = plane + b * 2 * kOverlapColumns;
      const LaneBlock* const second = first + kOverlapColumns;
      LaneBlock* const to = shared_columns_.data() + begin + b * kSharedColumns;
      std::copy_n(first, kSharedRankFactor, to);
      to[kSharedRankFactor] = first[kRankFactor];
      to[kSecondFloor] = second[kFloor];
      to[kSecondRankFactor] = second[kRankFactor];
    }
  }
  for (FastPathInterval& interval : layout_.intervals) {
    if (interval.segments == nullptr) continue;
    LaneBlock* const segments =
        shared_columns_.data() + begin_of[interval.segments];
    SetSharedMaxWaves(sub, interval.records, segments);
    interval.segments = segments;
  }
}

void GemmFastPath::SetSharedMaxWaves(const SubTable& sub,
                                     const FastPathRecord* const* records,
                                     LaneBlock* segments) {
  const auto source_of =
      [&](const FastPathRecord* record) -> const WaveSegment& {
    const auto index = static_cast<size_t>(record - records_.data());
    const size_t models = sub.row_regimes.size();
    return sub.groups[index / (2 * models)]
        .models[index / 2 % models]
        .segments[index % 2];
  };
  for (size_t lane = 0; lane < sub.groups.size(); ++lane) {
    const std::optional<int64_t> waves =
        SharedMaxWave(source_of(records[2 * lane]),
                      source_of(records[2 * lane + 1]), sub.max_waves[0]);
    segments[lane / kBlockLanes * kSharedColumns + kSharedMaxWave]
        .lane[lane % kBlockLanes] =
        static_cast<double>(std::min(*waves, kExpressionLimit));
  }
}

void GemmFastPath::SetConstants(const Parts& parts) {
  const LaneLayout& layout = parts.layout;
  // The factor of a quotient, or nullptr.
  const auto factor_of = [&](const LaneProduct& product,
                             int factor) -> const double* {
    return factor < product.factor_count ? product.factors[factor].inverse
                                         : nullptr;
  };
  // Axes may have changed places.
  const bool swapped = parts.program.DimensionOf(layout.tiles.factors[0]) !=
                       layout_.rows_dimension;
  const double* const sources[kFastPathColumns] = {
      factor_of(layout.tiles, swapped ? 1 : 0),
      factor_of(layout.tiles, swapped ? 0 : 1),
      factor_of(layout.loop, 0),
      layout.tiles.constants,
      layout.loop.constants,
      layout.tiles_per_wave,
      layout.inverse_tiles_per_wave};
  constants_.resize(static_cast<size_t>(layout.lanes) / kBlockLanes *
                    kFastPathColumns);
  for (int lane = 0; lane < layout.lanes; ++lane) {
    LaneBlock* const block =
        constants_.data() + lane / kBlockLanes * kFastPathColumns;
    for (int column = 0; column < kFastPathColumns; ++column) {
      block[column].lane[lane % kBlockLanes] =
          sources[column] == nullptr ? kNoQuotient : sources[column][lane];
    }
    const size_t group =
        static_cast<size_t>(lane) < parts.sub.groups.size() ? lane : 0;
    layout_.first_regime_tiles[lane] = TilesOfWaves(
        parts.sub.max_waves[0], parts.sub.groups[group].tiles_per_wave);
  }
  layout_.constants = constants_.data();
}

void GemmFastPath::SetRecords(const SubTable& sub) {
  for (const MacroGroup& group : sub.groups) {
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        records_.push_back(RecordOf(segment, group.tiles_per_wave));
      }
    }
  }
}

bool GemmFastPath::ChooseAmong(const ProblemView& problem,
                               const uint64_t* excluded,
                               GroupAnswer& answer) const noexcept {
  if (choose_among_ == nullptr) return false;
  for (size_t i = 0; i < problem.extents.size(); ++i) {
    if (ranges_[i].Lacks(problem.extents[i])) return false;
  }
  const FastPathAnswer found = choose_among_(layout_, problem.extents.data(),
                                             excluded, answer.latency_us);
  answer.pick = found.pick;
  answer.relative_bound = found.relative_bound;
  return true;
}

}  // namespace wavetune
