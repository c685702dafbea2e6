// The lane kernels, written once over a register type.
//
// For lane_kernel*.cc only, each of which defines a register type
// (model/decide/simd/lane_kernel_register.h) in an unnamed namespace. So every
// function made from these templates is its own: no other file's copy can take
// its place, nor the other way round. For the same reason nothing of the
// standard library is called here.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_IMPL_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_IMPL_H_

#include <cstdint>

#include "model/decide/simd/lane_kernel.h"
#include "model/decide/simd/lane_kernel_fast_path.h"
#include "model/decide/simd/lane_kernel_place.h"
#include "model/decide/simd/lane_kernel_predict.h"
#include "model/decide/simd/lane_kernel_register.h"
#include "model/decide/simd/lane_kernel_sums.h"
#include "model/kernel/wave_form.h"

namespace wavetune {

// How segments are laid out, and what they are read for.
enum class LaneForm { kSum, kColdSum, kOverlap };

constexpr int ColumnsOf(LaneForm form) {
  switch (form) {
    case LaneForm::kSum:
      return kSumColumns;
    case LaneForm::kColdSum:
      return kColdSumColumns;
    case LaneForm::kOverlap:
      break;
  }
  return kOverlapColumns;
}

// What choosing keeps of each lane.
struct LaneResults {
  alignas(64) double rank_us[kMaxLanes];
  alignas(64) double latency_us[kMaxLanes];
  alignas(64) double waves[kMaxLanes];
  alignas(64) double iterations[kMaxLanes];
};

// Writes the rank of each lane; returns the least of a few lanes' ranks.
template <typename R, Shape kShape, int kRegimes, LaneForm kForm>
WAVETUNE_KERNEL_INLINE R RankLanes(const LaneLayout& layout,
                                   const LaneInputs& inputs,
                                   const SegmentPlane& plane,
                                   const uint64_t* excluded,
                                   LaneResults& results, R& largest) {
  constexpr int kColumns = ColumnsOf(kForm);
  constexpr bool kOverlaps = kForm == LaneForm::kOverlap;
  const bool any_excluded = (excluded[0] | excluded[1]) != 0;
  const Locator<R, kShape> locator(layout, inputs);
  const LaneBlock* block = plane.blocks;
  const int regimes = kRegimes == 0 ? plane.wave_regimes : kRegimes;
  R best = R::Of(kNoLane);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    const int offset = lane % kBlockLanes;
    if (offset == 0 && lane != 0) block += regimes * kColumns;
    LanePlace<R> at = locator.At(lane, largest);
    const LaneSegments<R, kRegimes, kColumns> c(layout, block, offset, regimes,
                                                at.waves);
    R latency = R::Of(0);
    if constexpr (kOverlaps) {
      at.row_share =
          RowShareOf(R::Of(inputs.row_extent), R::Load(layout.row_tile + lane),
                     R::Load(layout.inverse_row_tile + lane));
      const R tiles_per_wave = R::Load(layout.tiles_per_wave + lane);
      const R memory = TileMemoryOf(c, at.iterations, at.row_share);
      latency = OverlapSumOf(
          c, at.longest, LastWaveOf(c, at.tiles, at.waves, tiles_per_wave),
          memory, FullWaveOf(c, at.longest, memory, tiles_per_wave));
    } else {
      latency = SumOf(c, at);
      if constexpr (kForm == LaneForm::kColdSum) {
        latency = latency + c[kSumCold] * R::Of(inputs.cold_mib);
      }
    }
    latency = Max(latency, c[kFloor]);
    R rank = latency;
    if constexpr (kOverlaps)
      rank = RankOfOverlap(OutsideOf(c, at), latency, c[kRankFactor]);
    if (any_excluded) {
      rank = Select(R::MaskOf(excluded[lane / 64] >> (lane % 64)),
                    R::Of(kNoLane), rank);
    }
    rank.Store(results.rank_us + lane);
    latency.Store(results.latency_us + lane);
    at.waves.Store(results.waves + lane);
    at.iterations.Store(results.iterations + lane);
    best = Min(rank, best);
  }
  return best;
}

template <typename R, Shape kShape, int kRegimes, LaneForm kForm>
bool ChooseLane(const LaneLayout& layout, const LaneInputs& inputs,
                const SegmentPlane& plane, const uint64_t* excluded,
                LaneChoice& choice) noexcept {
  LaneResults results;
  R largest = R::Of(0);
  const R best = LeastOfAll(RankLanes<R, kShape, kRegimes, kForm>(
      layout, inputs, plane, excluded, results, largest));
  if (!Fits(largest)) return false;
  choice.lane = -1;
  if (IsNoLane(best)) return true;
  const int lane = FirstAtMost<R>(results.rank_us, layout.lanes,
                                  best * R::Of(layout.tie_factor));
  choice.lane = lane;
  choice.latency_us = results.latency_us[lane];
  choice.waves = results.waves[lane];
  choice.iterations = results.iterations[lane];
  choice.anchor = NearestAnchor<R>(layout, choice.iterations);
  return true;
}

template <typename R, Shape kShape, int kRegimes>
WAVETUNE_KERNEL_INLINE bool ChooseLaneOfForm(const LaneLayout& layout,
                                             const LaneInputs& inputs,
                                             const SegmentPlane& plane,
                                             const uint64_t* excluded,
                                             LaneChoice& choice) {
  if (layout.overlaps) {
    return ChooseLane<R, kShape, kRegimes, LaneForm::kOverlap>(
        layout, inputs, plane, excluded, choice);
  }
  if (layout.cold) {
    return ChooseLane<R, kShape, kRegimes, LaneForm::kColdSum>(
        layout, inputs, plane, excluded, choice);
  }
  return ChooseLane<R, kShape, kRegimes, LaneForm::kSum>(layout, inputs, plane,
                                                         excluded, choice);
}

template <typename R>
bool ChooseLaneOf(const LaneLayout& layout, const LaneInputs& inputs,
                  const SegmentPlane& plane, const uint64_t* excluded,
                  LaneChoice& choice) noexcept {
  if (plane.wave_regimes == 2) {  // As FitTable makes them.
    switch (ShapeOf(layout)) {
      case Shape::kGroupedGemm:
        return ChooseLaneOfForm<R, Shape::kGroupedGemm, 2>(
            layout, inputs, plane, excluded, choice);
      case Shape::kAny:
        return ChooseLaneOfForm<R, Shape::kAny, 2>(layout, inputs, plane,
                                                   excluded, choice);
    }
  }
  if (plane.wave_regimes == 1) {
    return ChooseLaneOfForm<R, Shape::kAny, 1>(layout, inputs, plane, excluded,
                                               choice);
  }
  return ChooseLaneOfForm<R, Shape::kAny, 0>(layout, inputs, plane, excluded,
                                             choice);
}

// `Fast` is the register type of the fast path.
template <typename R, typename Fast = R>
constexpr LaneKernel MakeLaneKernel() {
  return {ChooseLaneOf<R>,
          FindChooseFast<Fast, FastPathForm::kSum>,
          FindChooseFast<Fast, FastPathForm::kOverlap>,
          FindChooseFast<Fast, FastPathForm::kSharedOverlap>,
          Fast::Sixteen::PlaceOf,
          LocateLanes<R>,
          CountBelow<R>,
          SumQuotients<R>,
          AllInRange<R>};
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_IMPL_H_
