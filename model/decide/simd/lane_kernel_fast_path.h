// Part of the lane kernels: the decision of a GEMM's problem in one go
// (model/decide/fast_path_layout.h).
//
// Time goes less to the arithmetic than to instructions that wait for another
// one, and to wrong predictions. So there is no branch that depends on the
// problem, and nothing is read as a vector that was just written number by
// number.
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_FAST_PATH_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_FAST_PATH_H_

#include <cstddef>
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

// The columns that a few lanes have in both wave regimes (SharedColumn).
template <typename R>
class SharedSegments {
 public:
  WAVETUNE_KERNEL_INLINE explicit SharedSegments(const double* base)
      : base_(base) {}

  WAVETUNE_KERNEL_INLINE R operator[](int column) const {
    return R::Load(base_ + column * kBlockLanes);
  }

 private:
  const double* base_;
};

// The kept results of each lane until one has won.
struct FastPathResults {
  alignas(64) double rank_us[kMaxLanes];
  alignas(64) double latency_us[kMaxLanes];  // Overlaps alone.
  alignas(64) double tiles[kMaxLanes];
  alignas(64) double iterations[kMaxLanes];
};

// A problem's extents in all lanes, that of the rows by itself, too, and the
// values looked up for them.
template <typename R>
struct FastPathProblem {
  R rows;
  R columns;
  R loop;
  const int64_t* row_extent;
  const FastPathInterval& interval;
  const FastPathLanes* unmeasured;  // FastPathForm::kSharedOverlap alone.
};

// `constants` are a block's, from the first of a few lanes on.
template <typename R>
WAVETUNE_KERNEL_INLINE R ColumnOf(const double* constants, int column) {
  return R::Load(constants + column * kBlockLanes);
}

// Neither product is 0.
template <typename R>
WAVETUNE_KERNEL_INLINE R TilesOf(const FastPathProblem<R>& problem,
                                 const double* constants) {
  const R rows = Ceil(problem.rows * ColumnOf<R>(constants, kInverseRows));
  const R columns =
      Ceil(problem.columns * ColumnOf<R>(constants, kInverseColumns));
  return rows * (columns * ColumnOf<R>(constants, kTilesConstant));
}
// Without the constant.
template <typename R>
WAVETUNE_KERNEL_INLINE R LoopOf(const FastPathProblem<R>& problem,
                                const double* constants) {
  return Ceil(problem.loop * ColumnOf<R>(constants, kInverseLoop));
}

// RowShare of each height of tiles.
template <typename R>
WAVETUNE_KERNEL_INLINE typename R::Sixteen RowShares(
    const FastPathLayout& layout, const int64_t* extent) {
  static_assert(FastPathLayout::kMaxHeights == 16);
  using Single = typename R::Single;
  const Single rows = Single::OfInteger(extent);
  typename Single::Sixteen shares{};
  WAVETUNE_KERNEL_UNROLL
  for (int at = 0; at < FastPathLayout::kMaxHeights; at += Single::kWidth) {
    if (at != 0 && at >= layout.heights) break;
    shares.Set(at, RowShareOf(rows, Single::Load(layout.height + at),
                              Single::Load(layout.inverse_height + at)));
  }
  return {shares};
}

// Where a few lanes' numbers begin.
WAVETUNE_KERNEL_INLINE const double* LanesOf(const LaneBlock* blocks,
                                             int columns, int lane) {
  const auto at = static_cast<unsigned>(lane);
  return blocks[at / kBlockLanes * static_cast<unsigned>(columns)].lane +
         at % kBlockLanes;
}

// Returns the rank of a few lanes and writes their results. `shares` is read by
// overlaps alone.
template <typename R, bool kOverlaps>
WAVETUNE_KERNEL_INLINE R RankOfLanes(const FastPathLayout& layout,
                                     const FastPathProblem<R>& problem,
                                     const typename R::Sixteen& shares,
                                     int lane, FastPathResults& results) {
  constexpr int kColumns = kOverlaps ? kOverlapColumns : kSumColumns;
  const double* const of = LanesOf(layout.constants, kFastPathColumns, lane);
  const R tiles = TilesOf(problem, of);
  const R loop = LoopOf(problem, of) * ColumnOf<R>(of, kLoopConstant);
  LanePlace<R> at = {tiles, loop, loop, tiles, R::Of(0)};
  at.tiles.Store(results.tiles + lane);
  at.iterations.Store(results.iterations + lane);
  const TwoSegments<R, kColumns> c(
      LanesOf(problem.interval.segments, 2 * kColumns, lane),
      Greater(tiles, R::Load(layout.first_regime_tiles + lane)));
  if constexpr (!kOverlaps) return Max(SumOf(c, at), c[kFloor]);
  at.waves = Ceil(tiles * ColumnOf<R>(of, kInverseCapacity));
  at.row_share = shares.Pick(layout.height_of + lane);
  const R memory = TileMemoryOf(c, loop, at.row_share);
  const R tiles_per_wave = ColumnOf<R>(of, kTilesPerWave);
  const R latency =
      Max(OverlapSumOf(c, loop, LastWaveOf(c, tiles, at.waves, tiles_per_wave),
                       memory, FullWaveOf(c, loop, memory, tiles_per_wave)),
          c[kFloor]);
  latency.Store(results.latency_us + lane);
  return RankOfOverlap(OutsideOf(c, at), latency, c[kRankFactor]);
}

// The same of segments laid out as SharedColumn. The tiles come first, as most
// waits for them.
template <typename R>
WAVETUNE_KERNEL_INLINE R RankOfSharedLanes(const FastPathLayout& layout,
                                           const FastPathProblem<R>& problem,
                                           const typename R::Sixteen& shares,
                                           int lane, FastPathResults& results) {
  const double* const of = LanesOf(layout.constants, kFastPathColumns, lane);
  const SharedSegments<R> c(
      LanesOf(problem.interval.segments, kSharedColumns, lane));
  const R tiles = TilesOf(problem, of);
  const R loop = LoopOf(problem, of);
  tiles.Store(results.tiles + lane);
  loop.Store(results.iterations + lane);
  const typename R::Mask second =
      Greater(tiles, R::Load(layout.first_regime_tiles + lane));
  const R waves = Ceil(tiles * ColumnOf<R>(of, kInverseCapacity));
  const LastWave<R> last =
      LastWaveOf(c, tiles, waves, ColumnOf<R>(of, kTilesPerWave));
  const R memory = TileMemoryOf(c, loop, shares.Pick(layout.height_of + lane));
  const R full_wave =
      FullWaveOf(c, loop, memory, ColumnOf<R>(of, kTilesPerWave));
  const R sum = OverlapSumOf(c, loop, last, memory, full_wave);
  const R latency = Max(sum, Select(second, c[kSecondFloor], c[kFloor]));
  latency.Store(results.latency_us + lane);
  const unsigned word = static_cast<unsigned>(lane) / 64;
  const R unmeasured =
      Select(second, R::OfBits(problem.unmeasured->second[word]),
             R::OfBits(problem.unmeasured->first[word]));
  return RankOfOverlap(
      Either(Greater(waves, c[kSharedMaxWave]),
             R::MaskAt(unmeasured, lane % 64)),
      latency, Select(second, c[kSecondRankFactor], c[kSharedRankFactor]));
}

template <typename R, FastPathForm kForm>
WAVETUNE_KERNEL_INLINE R RankOf(const FastPathLayout& layout,
                                const FastPathProblem<R>& problem,
                                const typename R::Sixteen& shares, int lane,
                                FastPathResults& results) {
  if constexpr (kForm == FastPathForm::kSharedOverlap) {
    return RankOfSharedLanes(layout, problem, shares, lane, results);
  } else {
    return RankOfLanes<R, kForm == FastPathForm::kOverlap>(
        layout, problem, shares, lane, results);
  }
}

// How many blocks of lanes a function is for.
inline constexpr int kAnyBlocks = 0;  // Some lanes may be excluded.
inline constexpr int kManyBlocks = -1;

// Writes all lanes' results; returns the least of a few lanes' ranks.
template <typename R, FastPathForm kForm, int kBlocks>
WAVETUNE_KERNEL_INLINE R RankFast(const FastPathLayout& layout,
                                  const FastPathProblem<R>& problem,
                                  const uint64_t* excluded,
                                  FastPathResults& results) {
  R best = R::Of(kNoLane);
  typename R::Sixteen shares;
  if constexpr (kForm != FastPathForm::kSum)
    shares = RowShares<R>(layout, problem.row_extent);
  if constexpr (kBlocks > 0) {
    WAVETUNE_KERNEL_UNROLL
    for (int lane = 0; lane < kBlocks * kBlockLanes; lane += R::kWidth) {
      const R rank = RankOf<R, kForm>(layout, problem, shares, lane, results);
      rank.Store(results.rank_us + lane);
      best = lane == 0 ? rank : Min(rank, best);
    }
  } else {
    for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
      R rank = RankOf<R, kForm>(layout, problem, shares, lane, results);
      if constexpr (kBlocks == kAnyBlocks) {
        rank = Select(R::MaskOf(excluded[lane / 64] >> (lane % 64)),
                      R::Of(kNoLane), rank);
      }
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

// Returns the index that a number, at least 0, has in the layout's tables.
WAVETUNE_KERNEL_INLINE size_t FastPathIndex(int64_t number) {
  constexpr int64_t kLast = FastPathLayout::kIndices - 1;
  return static_cast<size_t>(number < kLast ? number : kLast);
}

// The same of an extent of the loop's dimension, in FastPathLayout's
// loop_class_of.
WAVETUNE_KERNEL_INLINE size_t LoopIndex(int64_t extent, int shift) {
  return FastPathIndex(
      static_cast<int64_t>((static_cast<uint64_t>(extent - 1) >> shift) + 1));
}

// FastPathFunction.
template <typename R, FastPathForm kForm, int kBlocks>
FastPathAnswer ChooseFast(const FastPathLayout& layout, const int64_t* extents,
                          const uint64_t* excluded,
                          double& latency_us) noexcept {
  const int64_t rows = extents[layout.rows_dimension];
  const FastPathInterval& interval =
      layout.intervals[layout.interval_of[FastPathIndex(rows)]];
  FastPathProblem<R> problem = {
      R::OfInteger(extents + layout.rows_dimension),
      R::OfInteger(extents + layout.columns_dimension),
      R::OfInteger(extents + layout.loop_dimension),
      extents + layout.rows_dimension,
      interval,
      nullptr};
  if constexpr (kForm == FastPathForm::kSharedOverlap) {
    problem.unmeasured =
        interval.unmeasured +
        layout.loop_class_of[LoopIndex(extents[layout.loop_dimension],
                                       layout.loop_shift)];
  }
  FastPathResults results;  // Only written numbers are read.
  const R best = LeastOfAll(
      RankFast<R, kForm, kBlocks>(layout, problem, excluded, results));
  if constexpr (kBlocks == kAnyBlocks) {
    if (IsNoLane(best)) return {};
  }
  constexpr int kKnownBlocks = kBlocks < 0 ? 0 : kBlocks;
  const auto lane = static_cast<unsigned>(FirstAtMost<R, kKnownBlocks>(
      results.rank_us, layout.lanes, best * R::Of(layout.tie_factor)));
  const unsigned second =
      IsAbove(results.tiles[lane], layout.first_regime_tiles[lane]);
  const FastPathRecord& record = *interval.records[2 * lane + second];
  const unsigned outside = IsOutside(record, BitsOf(results.tiles[lane]),
                                     BitsOf(results.iterations[lane]));
  latency_us = kForm == FastPathForm::kSum ? results.rank_us[lane]
                                           : results.latency_us[lane];
  const unsigned anchor = layout.anchor_of[FastPathIndex(
      static_cast<int64_t>(results.iterations[lane]))];
  return {GroupPick::Of(lane, record.micro[anchor], outside),
          record.bounds[outside]};
}

template <typename R, FastPathForm kForm>
FastPathFunction* FindChooseFast(int lanes) noexcept {
  switch (lanes) {
    case 0:
      return ChooseFast<R, kForm, kAnyBlocks>;
    case 1 * kBlockLanes:
      return ChooseFast<R, kForm, 1>;
    case 2 * kBlockLanes:
      return ChooseFast<R, kForm, 2>;
    case 4 * kBlockLanes:
      return ChooseFast<R, kForm, 4>;
    default:
      return ChooseFast<R, kForm, kManyBlocks>;
  }
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_FAST_PATH_H_
