// Part of the lane kernels: the decision of a GEMM's problem in one go
// (model/decide/fast_path_layout.h).
//
// What costs time here is less the arithmetic than what one instruction must
// wait for of another, and what cannot be predicted: so there is no branch that
// depends on the problem, and nothing is read as a vector that was just written
// number by number.
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_FAST_PATH_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_FAST_PATH_H_

#include <cstdint>

#include "model/decide/fast_path_layout.h"
#include "model/decide/simd/lane_kernel.h"
#include "model/decide/simd/lane_kernel_place.h"
#include "model/decide/simd/lane_kernel_predict.h"
#include "model/decide/simd/lane_kernel_register.h"
#include "model/kernel/wave_form.h"

namespace wavetune {

// What a layout's segments look like.
enum class FastPathForm { kSum, kOverlap, kSharedOverlap };

// The columns of a few lanes, each lane's from its own wave regime, where few
// of them differ (kSharedColumns).
template <typename R>
class SharedSegments {
 public:
  static constexpr bool kFromFirstWave = true;

  WAVETUNE_KERNEL_INLINE SharedSegments(const LaneBlock* block, int offset,
                                        typename R::Mask second)
      : base_(block->lane + offset), second_(second) {}

  WAVETUNE_KERNEL_INLINE R operator[](int column) const {
    const R first = R::Load(base_ + column * kBlockLanes);
    const int other = SecondSharedColumn(column);
    if (other < 0) return first;
    return Select(second_, R::Load(base_ + other * kBlockLanes), first);
  }

 private:
  const double* base_;
  typename R::Mask second_;
};

template <typename R, FastPathForm kForm>
struct FastPathSegmentsOf {
  static constexpr int kColumns =
      2 * (kForm == FastPathForm::kSum ? kSumColumns : kOverlapColumns);
  using Type = TwoSegments<R, kColumns / 2>;
};
template <typename R>
struct FastPathSegmentsOf<R, FastPathForm::kSharedOverlap> {
  static constexpr int kColumns = kSharedColumns;
  using Type = SharedSegments<R>;
};

// What is kept of each lane until one has won.
struct FastPathResults {
  alignas(64) double rank_us[kMaxLanes];
  alignas(64) double latency_us[kMaxLanes];  // Overlaps alone.
  alignas(64) double tiles[kMaxLanes];
  alignas(64) double iterations[kMaxLanes];
  // The same, no more than the last index into FastPathLayout::anchor_of.
  alignas(64) int32_t anchor_index[kMaxLanes];
};

// A problem's extents in all lanes.
template <typename R>
struct FastPathProblem {
  R rows;
  R columns;
  R loop;
};

// `constants` are a block's, from the first of a few lanes on.
template <typename R>
WAVETUNE_KERNEL_INLINE R ColumnOf(const double* constants, int column) {
  return R::Load(constants + column * kBlockLanes);
}

// No product is 0. The waves are not set.
template <typename R>
WAVETUNE_KERNEL_INLINE LanePlace<R> FastPathPlace(
    const FastPathProblem<R>& problem, const double* constants) {
  const R rows = Ceil(problem.rows * ColumnOf<R>(constants, kInverseRows));
  const R columns =
      Ceil(problem.columns * ColumnOf<R>(constants, kInverseColumns));
  const R length = Ceil(problem.loop * ColumnOf<R>(constants, kInverseLoop));
  const R tiles = rows * (columns * ColumnOf<R>(constants, kTilesConstant));
  const R loop = length * ColumnOf<R>(constants, kLoopConstant);
  return {tiles, loop, loop, tiles, R::Of(0)};
}

// RowShare of each height of tiles.
template <typename R>
WAVETUNE_KERNEL_INLINE typename R::Sixteen RowShares(
    const FastPathLayout& layout, R extent) {
  static_assert(FastPathLayout::kMaxHeights == 16);
  typename R::Sixteen shares{};
  WAVETUNE_KERNEL_UNROLL
  for (int at = 0; at < FastPathLayout::kMaxHeights; at += R::kWidth) {
    if (at != 0 && at >= layout.heights) break;
    shares.Set(at, RowShareOf(extent, R::Load(layout.height + at),
                              R::Load(layout.inverse_height + at)));
  }
  return shares;
}

// Returns the rank of a few lanes and writes their results. `shares` is read by
// overlaps alone.
template <typename R, FastPathForm kForm>
WAVETUNE_KERNEL_INLINE R RankOfLanes(const FastPathLayout& layout,
                                     const FastPathProblem<R>& problem,
                                     const typename R::Sixteen& shares,
                                     const LaneBlock* segments, int lane,
                                     FastPathResults& results) {
  using Segments = FastPathSegmentsOf<R, kForm>;
  constexpr bool kOverlaps = kForm != FastPathForm::kSum;
  const int block = lane / kBlockLanes;
  const int offset = lane % kBlockLanes;
  const double* const of =
      layout.constants[block * kFastPathColumns].lane + offset;
  LanePlace<R> at = FastPathPlace(problem, of);
  const typename R::Mask second =
      Greater(at.tiles, R::Load(layout.first_regime_tiles + lane));
  const typename Segments::Type c(segments + block * Segments::kColumns, offset,
                                  second);
  R latency = R::Of(0);
  if constexpr (kOverlaps) {
    at.waves = Ceil(at.tiles * ColumnOf<R>(of, kInverseCapacity));
    at.row_share = shares.Pick(layout.height_of + lane);
    latency = OverlapSumOf(c, at, ColumnOf<R>(of, kTilesPerWave));
  } else {
    latency = SumOf(c, at);
  }
  latency = Max(latency, c[kFloor]);
  at.tiles.Store(results.tiles + lane);
  at.iterations.Store(results.iterations + lane);
  Min(at.iterations, R::Of(FastPathLayout::kIndices - 1))
      .StoreWhole(results.anchor_index + lane);
  if constexpr (!kOverlaps) return latency;
  latency.Store(results.latency_us + lane);
  return RankOfOverlap(c, at, latency);
}

// Writes all rows' results; returns the least of a few lanes' ranks. kBlocks:
// of lanes, or 0 for any number.
template <typename R, FastPathForm kForm, int kBlocks>
WAVETUNE_KERNEL_INLINE R RankFast(const FastPathLayout& layout,
                                  const FastPathProblem<R>& problem,
                                  const LaneBlock* segments,
                                  const uint64_t* excluded,
                                  FastPathResults& results) {
  R best = R::Of(kNoLane);
  typename R::Sixteen shares;
  if constexpr (kForm != FastPathForm::kSum)
    shares = RowShares(layout, problem.rows);
  if constexpr (kBlocks != 0) {
    WAVETUNE_KERNEL_UNROLL
    for (int lane = 0; lane < kBlocks * kBlockLanes; lane += R::kWidth) {
      const R rank = RankOfLanes<R, kForm>(layout, problem, shares, segments,
                                           lane, results);
      rank.Store(results.rank_us + lane);
      best = lane == 0 ? rank : Min(rank, best);
    }
  } else {
    for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
      const R all = RankOfLanes<R, kForm>(layout, problem, shares, segments,
                                          lane, results);
      const R rank = Select(R::MaskOf(excluded[lane / 64] >> (lane % 64)),
                            R::Of(kNoLane), all);
      rank.Store(results.rank_us + lane);
      best = Min(rank, best);
    }
  }
  return best;
}

// The bits of a number that is at least 0: they compare as the numbers do, and
// integers do so in a quarter of the time.
WAVETUNE_KERNEL_INLINE int64_t BitsOf(const double& value) {
  int64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Returns 1 where a is above b, else 0; both at least 0. The sign of a
// difference and no comparison, so that no compiler makes a branch of it.
WAVETUNE_KERNEL_INLINE unsigned IsAbove(const double& a, const double& b) {
  return static_cast<unsigned>(static_cast<uint64_t>(BitsOf(b) - BitsOf(a)) >>
                               63);
}

// Returns 1 where a problem lies outside of the record's measured range, else
// 0. Differences' signs, and no comparisons, so that no compiler makes branches
// of them; bits of numbers that are at least 0 do not overflow.
WAVETUNE_KERNEL_INLINE unsigned IsOutside(const FastPathRecord& record,
                                          int64_t tiles, int64_t iterations) {
  const int64_t negative = (BitsOf(record.max_tiles) - tiles) |
                           (tiles - BitsOf(record.min_tiles)) |
                           (BitsOf(record.max_iterations) - iterations) |
                           (iterations - BitsOf(record.min_iterations));
  return static_cast<unsigned>(static_cast<uint64_t>(negative) >> 63);
}

// FastPathFunction.
template <typename R, FastPathForm kForm, int kBlocks>
FastPathAnswer ChooseFast(const FastPathLayout& layout, const int64_t* extents,
                          const uint64_t* excluded,
                          double& latency_us) noexcept {
  const int64_t* const rows = extents + layout.rows_dimension;
  const FastPathProblem<R> problem = {
      R::OfInteger(rows), R::OfInteger(extents + layout.columns_dimension),
      R::OfInteger(extents + layout.loop_dimension)};
  constexpr int64_t kLast = FastPathLayout::kIndices - 1;
  const FastPathInterval& interval =
      layout.intervals[layout.interval_of[*rows < kLast ? *rows : kLast]];
  FastPathResults results;  // Only what was written is read.
  const R best = LeastOfAll(RankFast<R, kForm, kBlocks>(
      layout, problem, interval.segments, excluded, results));
  if constexpr (kBlocks == 0) {
    if (IsNoLane(best)) return {};
  }
  const auto lane = static_cast<unsigned>(FirstAtMost<R, kBlocks>(
      results.rank_us, layout.lanes, best * R::Of(layout.tie_factor)));
  const unsigned second =
      IsAbove(results.tiles[lane], layout.first_regime_tiles[lane]);
  const FastPathRecord& record = *interval.records[2 * lane + second];
  const unsigned outside = IsOutside(record, BitsOf(results.tiles[lane]),
                                     BitsOf(results.iterations[lane]));
  latency_us = kForm == FastPathForm::kSum ? results.rank_us[lane]
                                           : results.latency_us[lane];
  const unsigned anchor = layout.anchor_of[results.anchor_index[lane]];
  return {GroupPick::Of(lane, record.micro[anchor], outside),
          record.bounds[outside]};
}

template <typename R, FastPathForm kForm>
FastPathFunction* FindChooseFast(int lanes) noexcept {
  switch (lanes) {
    case 1 * kBlockLanes:
      return ChooseFast<R, kForm, 1>;
    case 2 * kBlockLanes:
      return ChooseFast<R, kForm, 2>;
    case 4 * kBlockLanes:
      return ChooseFast<R, kForm, 4>;
    default:
      return ChooseFast<R, kForm, 0>;
  }
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_FAST_PATH_H_
