// Part of the row kernels: the decision of the usual problem in one go
// (model/quick_layout.h).
//
// What costs time here is less the arithmetic than what one instruction must
// wait for of another, and what cannot be predicted: so there is no branch that
// depends on the problem, and nothing is read as a vector that was just written
// number by number.
//
// For row_kernel*.cc only; see model/row_kernel_impl.h.
#ifndef WAVETUNE_MODEL_ROW_KERNEL_QUICK_H_
#define WAVETUNE_MODEL_ROW_KERNEL_QUICK_H_

#include <cstdint>

#include "model/quick_layout.h"
#include "model/row_kernel.h"
#include "model/row_kernel_place.h"
#include "model/row_kernel_predict.h"
#include "model/row_kernel_register.h"
#include "model/wave_form.h"

namespace wavetune {

// What is kept of each row until one has won.
struct QuickResults {
  alignas(64) double rank_us[QuickLayout::kMaxRows];
  alignas(64) double latency_us[QuickLayout::kMaxRows];  // kOverlap alone.
  alignas(64) double tiles[QuickLayout::kMaxRows];
  alignas(64) double iterations[QuickLayout::kMaxRows];
};

// Returns how many of the ascending thresholds are below `value`, the same in
// all lanes.
template <typename R>
WAVETUNE_KERNEL_INLINE int ThresholdsBelow(const double* thresholds, int lanes,
                                           R value) {
  int below = 0;
  for (int lane = 0; lane < lanes; lane += R::kWidth) {
    below +=
        __builtin_popcount(Bits(Greater(value, R::Load(thresholds + lane))));
  }
  return below;
}

// A problem's extents in all lanes.
template <typename R>
struct QuickProblem {
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
WAVETUNE_KERNEL_INLINE LanePlace<R> QuickPlace(const QuickProblem<R>& problem,
                                               const double* constants) {
  const R rows = Ceil(problem.rows * ColumnOf<R>(constants, kInverseRows));
  const R columns =
      Ceil(problem.columns * ColumnOf<R>(constants, kInverseColumns));
  const R length = Ceil(problem.loop * ColumnOf<R>(constants, kInverseLoop));
  const R tiles = rows * (columns * ColumnOf<R>(constants, kTilesConstant));
  const R loop = length * ColumnOf<R>(constants, kLoopConstant);
  return {tiles, loop, loop, tiles};
}

// Writes the results of each row; returns the least of a few lanes' ranks.
template <typename R, bool kOverlaps>
WAVETUNE_KERNEL_INLINE R RankQuick(const QuickLayout& layout,
                                   const QuickProblem<R>& problem,
                                   const LaneBlock* segments,
                                   const uint64_t* excluded,
                                   QuickResults& results) {
  constexpr int kColumns = kOverlaps ? kOverlapColumns : kSumColumns;
  const LaneBlock* constants = layout.constants;
  R best = R::Of(kNoRow);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    const int offset = lane % kBlockLanes;
    if (offset == 0 && lane != 0) {
      constants += kQuickColumns;
      segments += 2 * kColumns;
    }
    const double* const of = constants->lane + offset;
    LanePlace<R> at = QuickPlace(problem, of);
    const TwoSegments<R, kColumns> c(
        segments, offset,
        Greater(at.tiles, R::Load(layout.first_regime_tiles + lane)));
    R latency = R::Of(0);
    if constexpr (kOverlaps) {
      at.waves = Ceil(at.tiles * ColumnOf<R>(of, kInverseCapacity));
      latency = OverlapSumOf(c, at, ColumnOf<R>(of, kCapacity));
    } else {
      latency = SumOf(c, at);
    }
    latency = Max(latency, c[kFloor]);
    R rank = latency;
    if constexpr (kOverlaps) {
      rank = Select(OutsideOf(c, at), latency * R::Of(1 + kUnmeasuredMargin),
                    latency);
      latency.Store(results.latency_us + lane);
    }
    if (excluded != nullptr) {
      rank = Select(R::MaskOf(*excluded >> lane), R::Of(kNoRow), rank);
    }
    rank.Store(results.rank_us + lane);
    at.tiles.Store(results.tiles + lane);
    at.iterations.Store(results.iterations + lane);
    best = Min(rank, best);
  }
  return best;
}

template <typename R, bool kOverlaps>
void ChooseQuick(const QuickLayout& layout, const int64_t* extents,
                 const uint64_t* excluded, RowAnswer& answer) noexcept {
  const QuickProblem<R> problem = {
      R::OfInteger(extents + layout.rows_dimension),
      R::OfInteger(extents + layout.columns_dimension),
      R::OfInteger(extents + layout.loop_dimension)};
  const QuickInterval& interval = layout.intervals[ThresholdsBelow(
      layout.thresholds, layout.threshold_lanes, problem.rows)];
  QuickResults results;  // Not initialised: only what was written is read.
  const R best = LeastOfAll(RankQuick<R, kOverlaps>(
      layout, problem, interval.segments, excluded, results));
  if (excluded != nullptr && IsNoRow(best)) {
    answer.group = -1;
    return;
  }
  const int row = __builtin_ctzll(LanesAtMost<R>(
      results.rank_us, layout.lanes, best * R::Of(layout.tie_factor)));
  const double tiles = results.tiles[row];
  const double iterations = results.iterations[row];
  const QuickRecord& record =
      layout.records[interval.records[row] +
                     (tiles > layout.first_regime_tiles[row] ? 1 : 0)];
  const int anchor = ThresholdsBelow(layout.anchor_thresholds,
                                     layout.anchor_lanes, R::Of(iterations));
  // Not ||, which would branch.
  const bool outside =
      ((tiles > record.above_tiles) & (tiles <= record.max_tiles) &
       (iterations >= record.min_iterations) &
       (iterations <= record.max_iterations)) == 0;
  answer.latency_us =
      kOverlaps ? results.latency_us[row] : results.rank_us[row];
  answer.group = static_cast<int16_t>(row);
  answer.candidate = record.micro[anchor];
  answer.extrapolated = outside;
  answer.relative_bound = record.bounds[outside ? 1 : 0];
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_ROW_KERNEL_QUICK_H_
