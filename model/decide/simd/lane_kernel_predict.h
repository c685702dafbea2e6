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

// Most registers: wave regimes before the last, at most 15 (kMaxWaveRegimes).
inline constexpr int kMaxWaveBounds = 15;
inline constexpr int kMaxAnchorLanes = 32;  // kMaxLoopAnchors.

// The columns of a few lanes, each lane's from its own wave regime. kRegimes:
// 1, 2, or 0 for any number.
template <typename R, int kRegimes, int kColumns>
class LaneSegments {
 public:
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
  // `base`: of the first regime, from the first of the lanes on.
  WAVETUNE_KERNEL_INLINE TwoSegments(const double* base,
                                     typename R::Mask second)
      : base_(base), second_(second) {
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

// OverlapUs.
template <typename R>
WAVETUNE_KERNEL_INLINE R OverlapOf(R compute, R memory) {
  const R longer = Max(compute, memory);
  const R both = R::Of(kOverlapLonger) * longer +
                 R::Of(kOverlapShorter) * Min(compute, memory);
  return Max(longer, both);
}

// OverlapParts::memory of a tile.
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R TileMemoryOf(const Segments& c, R iterations,
                                      R row_share) {
  const R loads = c[kAlpha] + c[kAlphaRow] * row_share;
  return c[kBeta] + loads * iterations;
}

// What each wave but the last takes.
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R FullWaveOf(const Segments& c, R longest, R tile_memory,
                                    R tiles_per_wave) {
  return c[kDeltaW] +
         OverlapOf(c[kWaveGamma] * longest, tile_memory * tiles_per_wave);
}

// LaunchWavesOf.
template <typename R>
struct LastWave {
  R full_waves;  // Before it.
  R tiles;
  R steps;
};

template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE LastWave<R> LastWaveOf(const Segments& c, R tiles,
                                              R waves, R tiles_per_wave) {
  const R full_waves = waves - R::Of(1);
  // All whole, so that the order does not matter; this one does not wait for
  // the full waves.
  const R last = (tiles + tiles_per_wave) - waves * tiles_per_wave;
  return {full_waves, last, Ceil(last * c[kInverseStep])};
}

// OverlapLatencyUs. OverlapPartsOf takes the larger of two products with the
// same loop, at least 1; here it is the larger factor's product. Rounding is
// monotone, so that both are the same number (or zeros, which no sum tells
// apart).
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R OverlapSumOf(const Segments& c, R longest,
                                      const LastWave<R>& last, R tile_memory,
                                      R full_wave) {
  const R compute = Max(c[kGamma], c[kGammaW] * last.steps) * longest;
  return (c[kDelta] + last.full_waves * full_wave) +
         OverlapOf(compute, tile_memory * last.tiles);
}

template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE typename R::Mask OutsideOf(const Segments& c,
                                                  const LanePlace<R>& at) {
  const typename R::Mask waves =
      Either(Greater(c[kMinWave], at.waves), Greater(at.waves, c[kMaxWave]));
  return Either(waves, Either(Greater(c[kMinIterations], at.iterations),
                              Greater(at.iterations, c[kMaxIterations])));
}

// RankOf (model/table/wave_arithmetic.h) of WaveForm::kOverlap.
template <typename R>
WAVETUNE_KERNEL_INLINE R RankOfOverlap(typename R::Mask outside, R latency,
                                       R factor) {
  // A product with 1 is exact, and known before the latency is.
  const R margin = Select(outside, R::Of(1 + kUnmeasuredMargin), R::Of(1));
  return (latency * margin) * factor;
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

// As LoopAnchorIndex (model/table/wave_model.h): the anchor nearer than all
// before it.
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
