// The row kernels, written once over a register type.
//
// For row_kernel*.cc only, each of which defines a register type in an unnamed
// namespace, so that every function made from these templates is its own: no
// other file's copy can take its place, nor the other way round. For the same
// reason nothing of the standard library is called here.
//
// A register type R has
//   kWidth                     lanes; divides kBlockLanes
//   Mask                       one truth value per lane
//   R Load(const double*), R Of(double), void Store(double*)
//   R FromIntegers(const int64_t*)       each in [0, 2^51]
//   +, -, *, /                           rounded to nearest, never contracted
//   Max(a, b), Min(a, b)                 a > b ? a : b; a < b ? a : b
//   Ceil(a)                              a in [0, 2^52]
//   Magnitude(a)
//   Greater(a, b), AtMost(a, b)-> Mask
//   Select(mask, a, b)                   mask ? a : b
//   double Least(a)                      of all lanes, none of them NaN
//   Mask Either(Mask, Mask); Mask MaskOf(uint64_t bits); unsigned Bits(Mask)
#ifndef WAVETUNE_MODEL_ROW_KERNEL_IMPL_H_
#define WAVETUNE_MODEL_ROW_KERNEL_IMPL_H_

#include <cstddef>
#include <cstdint>

#include "model/row_kernel.h"
#include "model/wave_form.h"

#define WAVETUNE_KERNEL_INLINE inline __attribute__((always_inline))

namespace wavetune {

inline constexpr double kNoRow = __builtin_inf();

// Of registers: wave regimes before the last, at most 15 (kMaxWaveRegimes).
inline constexpr int kMaxWaveBounds = 15;
inline constexpr int kMaxAnchorLanes = 32;  // kMaxLoopAnchors.

template <typename R>
WAVETUNE_KERNEL_INLINE R NumberOf(const LaneFactor& factor, int lane, int lanes,
                                  const LaneInputs& inputs) {
  return factor.from_lanes
             ? R::Load(inputs.lane_values + factor.source * lanes + lane)
             : R::Of(inputs.values[factor.source]);
}

// Exact where it is at most kLaneLimit: all factors are whole and at least 0, so
// that a product whose parts are rounded is either above, or 0. kFactors: how
// many there are, or -1 for any number.
template <typename R, int kFactors>
WAVETUNE_KERNEL_INLINE R ProductOf(const LaneProduct& product, int lane,
                                   int lanes, const LaneInputs& inputs) {
  R result = R::Load(product.constants + lane);
  const int count = kFactors < 0 ? product.factor_count : kFactors;
  for (int i = 0; i < count; ++i) {
    const LaneFactor& factor = product.factors[i];
    result = result * Ceil(NumberOf<R>(factor, lane, lanes, inputs) *
                           R::Load(factor.inverse + lane));
  }
  return Max(result, R::Of(1));
}

// Where a few rows' problem lies.
template <typename R>
struct LanePlace {
  R tiles;
  R iterations;
  R longest;
  R waves;
};

// How many factors tiles and loop have, and that the loop is of each tile: the
// usual case, without its branches. -1: any.
template <typename R, int kTiles, int kLoop>
WAVETUNE_KERNEL_INLINE LanePlace<R> Locate(const RowLayout& layout,
                                           const LaneInputs& inputs, int lane,
                                           R& largest) {
  const int lanes = layout.lanes;
  const R tiles = ProductOf<R, kTiles>(layout.tiles, lane, lanes, inputs);
  const R loop = ProductOf<R, kLoop>(layout.loop, lane, lanes, inputs);
  const R waves = Ceil(tiles * R::Load(layout.inverse_capacity + lane));
  LanePlace<R> at = {tiles, loop, loop, waves};
  largest = Max(largest, Max(tiles, loop));
  if constexpr (kTiles < 0) {
    if (layout.loop_is_total) {
      at.iterations = loop / tiles;
      at.longest = Ceil(at.iterations);
    }
    if (layout.has_longest) {
      at.longest = ProductOf<R, -1>(layout.longest, lane, lanes, inputs);
      largest = Max(largest, at.longest);
    }
  }
  return at;
}

template <typename R>
WAVETUNE_KERNEL_INLINE bool Fits(R largest) {
  return Bits(Greater(largest, R::Of(kLaneLimit))) == 0;
}

template <typename R>
bool LocateRows(const RowLayout& layout, const LaneInputs& inputs,
                double* waves) noexcept {
  R largest = R::Of(0);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    Locate<R, -1, -1>(layout, inputs, lane, largest).waves.Store(waves + lane);
  }
  return Fits(largest);
}

// The columns of a few lanes, each lane's from its own wave regime. kRegimes: 1,
// 2, or 0 for any number.
template <typename R, int kRegimes, int kColumns>
class LaneSegments {
 public:
  WAVETUNE_KERNEL_INLINE LaneSegments(const RowLayout& layout,
                                      const SegmentPlane& plane, int lane,
                                      R waves)
      : regimes_(kRegimes == 0 ? plane.wave_regimes : kRegimes),
        base_(plane.blocks +
              static_cast<ptrdiff_t>(lane / kBlockLanes) * regimes_ * kColumns),
        offset_(lane % kBlockLanes) {
    for (int i = 0; i + 1 < regimes_; ++i) {
      above_[i] = Greater(waves, R::Of(layout.max_waves[i]));
    }
  }

  WAVETUNE_KERNEL_INLINE R operator[](int column) const {
    R value = R::Load(&base_[column].lane[offset_]);
    for (int i = 1; i < regimes_; ++i) {
      value = Select(above_[i - 1],
                     R::Load(&base_[i * kColumns + column].lane[offset_]),
                     value);
    }
    return value;
  }

 private:
  int regimes_;
  const LaneBlock* base_;
  int offset_;
  typename R::Mask above_[kRegimes == 0   ? kMaxWaveBounds
                          : kRegimes == 1 ? 1
                                          : kRegimes - 1];
};

// SumLatencyUs (model/wave_arithmetic.h).
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
  return Max(Max(compute, memory), R::Of(kOverlapShare) * (compute + memory));
}

// OverlapLatencyUs.
template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE R OverlapSumOf(const Segments& c, const LanePlace<R>& at,
                                      R capacity) {
  const R full_waves = at.waves - R::Of(1);
  const R last = at.tiles - full_waves * capacity;
  const R last_steps = Ceil(last * c[kInverseStep]);
  const R tile = c[kGamma] * at.longest;
  const R bandwidth = c[kBeta] + c[kAlpha] * at.iterations;
  const R per_wave =
      c[kDeltaW] + OverlapOf(tile, c[kFullGammaW] * at.longest,
                             bandwidth * capacity);
  return (c[kDelta] + full_waves * per_wave) +
         OverlapOf(tile, (c[kGammaW] * last_steps) * at.longest,
                   bandwidth * last);
}

template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE typename R::Mask OutsideOf(const Segments& c,
                                                  const LanePlace<R>& at) {
  return Either(Either(Greater(c[kMinWave], at.waves),
                       Greater(at.waves, c[kMaxWave])),
                Either(Greater(c[kMinIterations], at.iterations),
                       Greater(at.iterations, c[kMaxIterations])));
}

// What choosing keeps of each row.
struct RowResults {
  alignas(64) double rank_us[kMaxLanes];
  alignas(64) double latency_us[kMaxLanes];
  alignas(64) double waves[kMaxLanes];
  alignas(64) double iterations[kMaxLanes];
};

// Returns the first lane whose value is at most `limit`; there is one.
template <typename R>
WAVETUNE_KERNEL_INLINE int FirstAtMost(const double* values, double limit) {
  const R bound = R::Of(limit);
  for (int lane = 0;; lane += R::kWidth) {
    const unsigned bits = Bits(AtMost(R::Load(values + lane), bound));
    if (bits != 0) return lane + __builtin_ctz(bits);
  }
}

// As LoopAnchorIndex (model/wave_model.h): what is nearer than all before it.
template <typename R>
WAVETUNE_KERNEL_INLINE int NearestAnchor(const RowLayout& layout,
                                         double value) {
  alignas(64) double distances[kMaxAnchorLanes];
  const R at = R::Of(value);
  R least = R::Of(kNoRow);
  for (int lane = 0; lane < layout.anchor_lanes; lane += R::kWidth) {
    const R distance = Magnitude(at - R::Load(layout.anchors + lane));
    distance.Store(distances + lane);
    least = Min(distance, least);
  }
  return FirstAtMost<R>(distances, Least(least));
}

// Writes the rank of each row; returns the least of a few lanes' ranks.
template <typename R, int kTiles, int kLoop, int kRegimes, bool kOverlaps>
WAVETUNE_KERNEL_INLINE R RankRows(const RowLayout& layout,
                                  const LaneInputs& inputs,
                                  const SegmentPlane& plane,
                                  const uint64_t* excluded,
                                  RowResults& results, R& largest) {
  constexpr int kColumns = kOverlaps ? kOverlapColumns : kSumColumns;
  const bool any_excluded = (excluded[0] | excluded[1]) != 0;
  R best = R::Of(kNoRow);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    const LanePlace<R> at =
        Locate<R, kTiles, kLoop>(layout, inputs, lane, largest);
    const LaneSegments<R, kRegimes, kColumns> c(layout, plane, lane, at.waves);
    R latency = R::Of(0);
    if constexpr (kOverlaps) {
      latency = OverlapSumOf(c, at, R::Load(layout.capacity + lane));
    } else {
      latency = SumOf(c, at);
    }
    latency = Max(latency, c[kFloor]);
    R rank = latency;
    if constexpr (kOverlaps) {
      rank = Select(OutsideOf(c, at), latency * R::Of(1 + kUnmeasuredMargin),
                    latency);
    }
    if (any_excluded) {
      rank = Select(R::MaskOf(excluded[lane / 64] >> (lane % 64)),
                    R::Of(kNoRow), rank);
    }
    rank.Store(results.rank_us + lane);
    latency.Store(results.latency_us + lane);
    at.waves.Store(results.waves + lane);
    at.iterations.Store(results.iterations + lane);
    best = Min(rank, best);
  }
  return best;
}

template <typename R, int kTiles, int kLoop, int kRegimes, bool kOverlaps>
bool ChooseRow(const RowLayout& layout, const LaneInputs& inputs,
               const SegmentPlane& plane, const uint64_t* excluded,
               RowChoice& choice) noexcept {
  RowResults results;
  R largest = R::Of(0);
  const double best = Least(RankRows<R, kTiles, kLoop, kRegimes, kOverlaps>(
      layout, inputs, plane, excluded, results, largest));
  if (!Fits(largest)) return false;
  choice.lane = -1;
  if (best == kNoRow) return true;
  const int lane = FirstAtMost<R>(results.rank_us, best * layout.tie_factor);
  choice.lane = lane;
  choice.latency_us = results.latency_us[lane];
  choice.waves = results.waves[lane];
  choice.iterations = results.iterations[lane];
  choice.anchor = NearestAnchor<R>(layout, choice.iterations);
  return true;
}

template <typename R, int kTiles, int kLoop, int kRegimes>
WAVETUNE_KERNEL_INLINE bool ChooseRowOfForm(const RowLayout& layout,
                                            const LaneInputs& inputs,
                                            const SegmentPlane& plane,
                                            const uint64_t* excluded,
                                            RowChoice& choice) {
  return layout.overlaps
             ? ChooseRow<R, kTiles, kLoop, kRegimes, true>(
                   layout, inputs, plane, excluded, choice)
             : ChooseRow<R, kTiles, kLoop, kRegimes, false>(
                   layout, inputs, plane, excluded, choice);
}

// GEMM and grouped GEMM have two axes of tiles and one loop, and FitTable makes
// two wave regimes: that has code of its own.
template <typename R>
bool ChooseRowOf(const RowLayout& layout, const LaneInputs& inputs,
                 const SegmentPlane& plane, const uint64_t* excluded,
                 RowChoice& choice) noexcept {
  const bool usual = layout.tiles.factor_count == 2 &&
                     layout.loop.factor_count == 1 && !layout.loop_is_total &&
                     !layout.has_longest;
  switch (plane.wave_regimes) {
    case 1:
      return ChooseRowOfForm<R, -1, -1, 1>(layout, inputs, plane, excluded,
                                           choice);
    case 2:
      return usual ? ChooseRowOfForm<R, 2, 1, 2>(layout, inputs, plane,
                                                 excluded, choice)
                   : ChooseRowOfForm<R, -1, -1, 2>(layout, inputs, plane,
                                                   excluded, choice);
    default:
      return ChooseRowOfForm<R, -1, -1, 0>(layout, inputs, plane, excluded,
                                           choice);
  }
}

template <typename R>
int CountBelow(const double* thresholds, int count, double value) noexcept {
  const R at = R::Of(value);
  int below = 0;
  // They ascend.
  for (int lane = 0; lane < count; lane += R::kWidth) {
    const unsigned bits = Bits(Greater(at, R::Load(thresholds + lane)));
    below += __builtin_popcount(bits);
  }
  return below;
}

template <typename R>
WAVETUNE_KERNEL_INLINE double TotalOf(R value) {
  double lanes[R::kWidth];
  value.Store(lanes);
  double total = lanes[0];
  for (int i = 1; i < R::kWidth; ++i) total += lanes[i];
  return total;
}

// Sums are whole numbers, so that up to 2^53 their order does not matter.
template <typename R>
void SumQuotients(const int64_t* elements, size_t element_count,
                  const double* inverses, int divisor_count,
                  double* sums) noexcept {
  constexpr size_t kChunk = 64;  // Elements that are converted at a time.
  double chunk[kChunk];
  for (int i = 0; i < divisor_count; ++i) sums[i] = 0;
  for (size_t begin = 0; begin < element_count; begin += kChunk) {
    const size_t left = element_count - begin;
    const size_t count = left < kChunk ? left : kChunk;
    size_t filled = 0;
    for (; filled + R::kWidth <= count; filled += R::kWidth) {
      R::FromIntegers(elements + begin + filled).Store(chunk + filled);
    }
    for (; filled < count; ++filled) {
      chunk[filled] = static_cast<double>(elements[begin + filled]);
    }
    for (; filled % R::kWidth != 0; ++filled) chunk[filled] = 0;
    for (int i = 0; i < divisor_count; ++i) {
      const R inverse = R::Of(inverses[i]);
      R sum = R::Of(0);
      for (size_t e = 0; e < filled; e += R::kWidth) {
        sum = sum + Ceil(R::Load(chunk + e) * inverse);
      }
      sums[i] += TotalOf(sum);
    }
  }
}

// Left to the compiler, which knows how to compare integers on every path.
template <typename R>
bool AllInRange(const int64_t* elements, size_t element_count, int64_t min,
                int64_t max) noexcept {
  int64_t outside = 0;
  for (size_t i = 0; i < element_count; ++i) {
    outside |= static_cast<int64_t>(elements[i] < min) |
               static_cast<int64_t>(elements[i] > max);
  }
  return outside == 0;
}

template <typename R>
constexpr RowKernel MakeRowKernel() {
  return {ChooseRowOf<R>, LocateRows<R>, CountBelow<R>, SumQuotients<R>,
          AllInRange<R>};
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_ROW_KERNEL_IMPL_H_
