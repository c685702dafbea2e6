// Part of the lane kernels: predictions of a few lanes at their places, and the
// search for the first lane near the best.
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PREDICT_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PREDICT_H_

#include <cstdint>

#include "model/decide/simd/lane_kernel.h"
#include "model/decide/simd/lane_kernel_place.h"
#include "model/decide/simd/lane_kernel_register.h"
#include "model/kernel/wave_form.h"

namespace wavetune {

// Of registers: wave regimes before the last, at most 15 (kMaxWaveRegimes).
inline constexpr int kMaxWaveBounds = 15;
inline constexpr int kMaxAnchorLanes = 32;  // kMaxLoopAnchors.

// The columns of a few lanes, each lane's from its own wave regime. kRegimes:
// 1, 2, or 0 for any number.
template <typename R, int kRegimes, int kColumns>
class LaneSegments {
 public:
  static constexpr bool kFromFirstWave = false;  // kMinWave is read.

  // `block` is the plane's block of the lanes, `offset` the first one's place
  // in it.
  WAVETUNE_KERNEL_INLINE LaneSegments(const LaneLayout& layout,
                                      const LaneBlock* block, int offset,
                                      int regimes, R waves)
      : regimes_(kRegimes == 0 ? regimes : kRegimes),
        base_(block->lane + offset) {
    for (int i = 0; i + 1 < regimes_; ++i) {
      above_[i] = Greater(waves, R::Of(layout.max_waves[i]));
    }
    if constexpr (R::kWidth == 1) {
      // One lane takes the columns of its regime alone.
      unsigned regime = 0;
      for (int i = 0; i + 1 < regimes_; ++i) regime += Bits(above_[i]);
      base_ += regime * kColumns * kBlockLanes;
    }
  }

  WAVETUNE_KERNEL_INLINE R operator[](int column) const {
    const double* from = base_ + column * kBlockLanes;
    R value = R::Load(from);
    if constexpr (R::kWidth > 1) {
      for (int i = 1; i < regimes_; ++i) {
        from += kColumns * kBlockLanes;
        value = Select(above_[i - 1], R::Load(from), value);
      }
    }
    return value;
  }

 private:
  int regimes_;
  const double* base_;
  typename R::Mask above_[kRegimes == 0   ? kMaxWaveBounds
                          : kRegimes == 1 ? 1
                                          : kRegimes - 1];
};

// The same of two wave regimes: the second in the lanes of `second`.
template <typename R, int kColumns>
class TwoSegments {
 public:
  static constexpr bool kFromFirstWave = false;

  WAVETUNE_KERNEL_INLINE TwoSegments(const LaneBlock* block, int offset,
                                     typename R::Mask second)
      : base_(block->lane + offset), second_(second) {
    if constexpr (R::kWidth == 1) base_ += Bits(second) * kRegime;
  }

  WAVETUNE_KERNEL_INLINE R operator[](int column) const {
    const double* const from = base_ + column * kBlockLanes;
    if constexpr (R::kWidth == 1) {
      return R::Load(from);
    } else {
      return Select(second_, R::Load(from + kRegime), R::Load(from));
    }
  }

 private:
  static constexpr int kRegime = kColumns * kBlockLanes;

  const double* base_;
  typename R::Mask second_;
};

// SumLatencyUs (model/table/wave_arithmetic.h).
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R SumOf(const Segments& c, const LanePlace<R>& at) {
  const R steps = Ceil(at.tiles * c[kInverseStep]);
  const R fixed = c[kDelta] + c[kDeltaW] * steps;
  const R per_iteration = (c[kGamma] + c[kGammaW] * steps) * at.longest;
  return ((fixed + per_iteration) + c[kBeta] * at.tiles) +
         (c[kAlpha] * at.tiles) * at.iterations;
}

// OverlapUs of OverlapPartsOf.
template <typename R>
WAVETUNE_KERNEL_INLINE R OverlapOf(R tile, R steps, R memory) {
  const R compute = Max(tile, steps);
  const R longer = Max(compute, memory);
  const R both = R::Of(kOverlapLonger) * longer +
                 R::Of(kOverlapShorter) * Min(compute, memory);
  return Max(longer, both);
}

// OverlapLatencyUs.
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R OverlapSumOf(const Segments& c, const LanePlace<R>& at,
                                      R tiles_per_wave) {
  const R full_waves = at.waves - R::Of(1);
  const R last = at.tiles - full_waves * tiles_per_wave;
  const R last_steps = Ceil(last * c[kInverseStep]);
  const R tile = c[kGamma] * at.longest;
  const R loads = c[kAlpha] + c[kAlphaRow] * at.row_share;
  const R bandwidth = c[kBeta] + loads * at.iterations;
  const R per_wave = c[kDeltaW] + OverlapOf(tile, c[kFullGammaW] * at.longest,
                                            bandwidth * tiles_per_wave);
  return (c[kDelta] + full_waves * per_wave) +
         OverlapOf(tile, (c[kGammaW] * last_steps) * at.longest,
                   bandwidth * last);
}

template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE typename R::Mask OutsideOf(const Segments& c,
                                                  const LanePlace<R>& at) {
  typename R::Mask waves = Greater(at.waves, c[kMaxWave]);
  if constexpr (!Segments::kFromFirstWave) {
    waves = Either(Greater(c[kMinWave], at.waves), waves);
  }
  return Either(waves, Either(Greater(c[kMinIterations], at.iterations),
                              Greater(at.iterations, c[kMaxIterations])));
}

// RankOf (model/table/wave_arithmetic.h) of WaveForm::kOverlap.
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R RankOfOverlap(const Segments& c,
                                       const LanePlace<R>& at, R latency) {
  return Select(OutsideOf(c, at), latency * R::Of(1 + kUnmeasuredMargin),
                latency) *
         c[kRankFactor];
}

// Returns whether that is the least rank, in all lanes.
template <typename R>
WAVETUNE_KERNEL_INLINE bool IsNoLane(R least) {
  return Bits(AtMost(R::Of(kNoLane), least)) != 0;
}

// Returns a bit for each of up to 64 lanes: whether its value is at most
// `bound`, the same in all lanes. kBlocks: of lanes, or 0 for any number.
template <typename R, int kBlocks = 0>
WAVETUNE_KERNEL_INLINE uint64_t LanesAtMost(const double* values, int lanes,
                                            R bound) {
  uint64_t found = 0;
  if constexpr (kBlocks != 0) {
    WAVETUNE_KERNEL_UNROLL
    for (int lane = 0; lane < kBlocks * kBlockLanes; lane += R::kWidth) {
      found |= uint64_t{Bits(AtMost(R::Load(values + lane), bound))} << lane;
    }
    return found;
  }
  for (int lane = 0; lane < lanes; lane += R::kWidth) {
    found |= uint64_t{Bits(AtMost(R::Load(values + lane), bound))} << lane;
  }
  return found;
}

// Returns the first lane whose value is at most `bound`; there is one. Which it
// is cannot be predicted, so that the only branch is after 64 lanes. kBlocks:
// of lanes, no more than 64, or 0 for any number.
template <typename R, int kBlocks = 0>
WAVETUNE_KERNEL_INLINE int FirstAtMost(const double* values, int lanes,
                                       R bound) {
  if constexpr (kBlocks != 0) {
    static_assert(kBlocks * kBlockLanes <= 64);
    return __builtin_ctzll(LanesAtMost<R, kBlocks>(values, lanes, bound));
  }
  for (int begin = 0;; begin += 64) {
    const int left = lanes - begin;
    const uint64_t found =
        LanesAtMost<R>(values + begin, left < 64 ? left : 64, bound);
    if (found != 0 || left <= 64) return begin + __builtin_ctzll(found);
  }
}

// As LoopAnchorIndex (model/table/wave_model.h): what is nearer than all before
// it.
template <typename R>
WAVETUNE_KERNEL_INLINE int NearestAnchor(const LaneLayout& layout,
                                         double value) {
  alignas(64) double distances[kMaxAnchorLanes];
  const R at = R::Of(value);
  R least = R::Of(kNoLane);
  for (int lane = 0; lane < layout.anchor_lanes; lane += R::kWidth) {
    const R distance = Magnitude(at - R::Load(layout.anchors + lane));
    distance.Store(distances + lane);
    least = Min(distance, least);
  }
  return FirstAtMost<R>(distances, layout.anchor_lanes, LeastOfAll(least));
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PREDICT_H_
