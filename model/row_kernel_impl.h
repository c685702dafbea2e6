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
//   Mask Outside(const int64_t*, int64_t min, int64_t max)
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

// How a layout's coordinates are made. The usual ones have code of their own,
// without the branches of the others: GEMM and grouped GEMM are two axes of
// tiles and one loop that is each tile's; a grouped one's first axis is a sum,
// made before.
enum class Shape { kAny, kGemm, kGroupedGemm };

static WAVETUNE_KERNEL_INLINE Shape ShapeOf(const RowLayout& layout) {
  const LaneFactor* const tiles = layout.tiles.factors;
  if (layout.tiles.factor_count != 2 || layout.loop.factor_count != 1 ||
      layout.loop_is_total || layout.has_longest || tiles[1].from_lanes ||
      layout.loop.factors[0].from_lanes) {
    return Shape::kAny;
  }
  return tiles[0].from_lanes ? Shape::kGroupedGemm : Shape::kGemm;
}

template <typename R>
WAVETUNE_KERNEL_INLINE R NumberOf(const LaneFactor& factor, int lane, int lanes,
                                  const LaneInputs& inputs) {
  return factor.from_lanes
             ? R::Load(inputs.lane_values + factor.source * lanes + lane)
             : R::Of(inputs.values[factor.source]);
}

// Exact where it is at most kLaneLimit: all factors are whole and at least 0,
// so that a product whose parts are rounded is either above, or 0.
template <typename R>
WAVETUNE_KERNEL_INLINE R ProductOf(const LaneProduct& product, int lane,
                                   int lanes, const LaneInputs& inputs) {
  R result = R::Load(product.constants + lane);
  for (int i = 0; i < product.factor_count; ++i) {
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

template <typename R>
WAVETUNE_KERNEL_INLINE R WavesOf(const RowLayout& layout, R tiles, int lane) {
  return Ceil(tiles * R::Load(layout.inverse_capacity + lane));
}

// Finds the places of rows, a few lanes at a time. `largest` collects what must
// be at most kLaneLimit.
template <typename R, Shape kShape>
class Locator {
 public:
  WAVETUNE_KERNEL_INLINE Locator(const RowLayout& layout,
                                 const LaneInputs& inputs)
      : layout_(layout), inputs_(inputs) {}

  WAVETUNE_KERNEL_INLINE LanePlace<R> At(int lane, R& largest) const {
    const int lanes = layout_.lanes;
    const R tiles = ProductOf<R>(layout_.tiles, lane, lanes, inputs_);
    const R loop = ProductOf<R>(layout_.loop, lane, lanes, inputs_);
    largest = Max(largest, Max(tiles, loop));
    LanePlace<R> at = {tiles, loop, loop, WavesOf(layout_, tiles, lane)};
    if (layout_.loop_is_total) {
      at.iterations = loop / tiles;
      at.longest = Ceil(at.iterations);
    }
    if (layout_.has_longest) {
      at.longest = ProductOf<R>(layout_.longest, lane, lanes, inputs_);
      largest = Max(largest, at.longest);
    }
    return at;
  }

 private:
  const RowLayout& layout_;
  const LaneInputs& inputs_;
};

// What does not depend on the lanes stays in registers.
template <typename R>
class GemmLocator {
 public:
  WAVETUNE_KERNEL_INLINE GemmLocator(const RowLayout& layout,
                                     const LaneInputs& inputs)
      : layout_(layout),
        tiles_(layout.tiles.constants),
        loop_(layout.loop.constants),
        inverse0_(layout.tiles.factors[0].inverse),
        inverse1_(layout.tiles.factors[1].inverse),
        inverse2_(layout.loop.factors[0].inverse),
        number1_(R::Of(inputs.values[layout.tiles.factors[1].source])),
        number2_(R::Of(inputs.values[layout.loop.factors[0].source])) {}

 protected:
  WAVETUNE_KERNEL_INLINE LanePlace<R> AtNumber(R number0, int lane,
                                               R& largest) const {
    const R rows = Ceil(number0 * R::Load(inverse0_ + lane));
    const R columns = Ceil(number1_ * R::Load(inverse1_ + lane));
    const R length = Ceil(number2_ * R::Load(inverse2_ + lane));
    const R tiles = Max((R::Load(tiles_ + lane) * rows) * columns, R::Of(1));
    const R loop = Max(R::Load(loop_ + lane) * length, R::Of(1));
    largest = Max(largest, Max(tiles, loop));
    return {tiles, loop, loop, WavesOf(layout_, tiles, lane)};
  }

 private:
  const RowLayout& layout_;
  const double* tiles_;
  const double* loop_;
  const double* inverse0_;
  const double* inverse1_;
  const double* inverse2_;
  R number1_;
  R number2_;
};

template <typename R>
class Locator<R, Shape::kGemm> : GemmLocator<R> {
 public:
  WAVETUNE_KERNEL_INLINE Locator(const RowLayout& layout,
                                 const LaneInputs& inputs)
      : GemmLocator<R>(layout, inputs),
        number0_(R::Of(inputs.values[layout.tiles.factors[0].source])) {}

  WAVETUNE_KERNEL_INLINE LanePlace<R> At(int lane, R& largest) const {
    return this->AtNumber(number0_, lane, largest);
  }

 private:
  R number0_;
};

template <typename R>
class Locator<R, Shape::kGroupedGemm> : GemmLocator<R> {
 public:
  WAVETUNE_KERNEL_INLINE Locator(const RowLayout& layout,
                                 const LaneInputs& inputs)
      : GemmLocator<R>(layout, inputs),
        numbers0_(inputs.lane_values +
                  layout.tiles.factors[0].source * layout.lanes) {}

  WAVETUNE_KERNEL_INLINE LanePlace<R> At(int lane, R& largest) const {
    return this->AtNumber(R::Load(numbers0_ + lane), lane, largest);
  }

 private:
  const double* numbers0_;
};

template <typename R>
WAVETUNE_KERNEL_INLINE bool Fits(R largest) {
  return Bits(Greater(largest, R::Of(kLaneLimit))) == 0;
}

template <typename R>
bool LocateRows(const RowLayout& layout, const LaneInputs& inputs,
                double* waves) noexcept {
  R largest = R::Of(0);
  const Locator<R, Shape::kAny> locator(layout, inputs);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    locator.At(lane, largest).waves.Store(waves + lane);
  }
  return Fits(largest);
}

// The columns of a few lanes, each lane's from its own wave regime. kRegimes:
// 1, 2, or 0 for any number.
template <typename R, int kRegimes, int kColumns>
class LaneSegments {
 public:
  // `block` is the plane's block of the lanes, `offset` the first one's place
  // in it.
  WAVETUNE_KERNEL_INLINE LaneSegments(const RowLayout& layout,
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
  const R per_wave = c[kDeltaW] + OverlapOf(tile, c[kFullGammaW] * at.longest,
                                            bandwidth * capacity);
  return (c[kDelta] + full_waves * per_wave) +
         OverlapOf(tile, (c[kGammaW] * last_steps) * at.longest,
                   bandwidth * last);
}

template <typename R, typename Segments>
WAVETUNE_KERNEL_INLINE typename R::Mask OutsideOf(const Segments& c,
                                                  const LanePlace<R>& at) {
  return Either(
      Either(Greater(c[kMinWave], at.waves), Greater(at.waves, c[kMaxWave])),
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

// Returns the first lane whose value is at most `limit`; there is one. Which it
// is cannot be predicted, so that the only branch is after 64 lanes.
template <typename R>
WAVETUNE_KERNEL_INLINE int FirstAtMost(const double* values, int lanes,
                                       double limit) {
  const R bound = R::Of(limit);
  for (int begin = 0;; begin += 64) {
    const int end = lanes - begin < 64 ? lanes : begin + 64;
    uint64_t found = 0;
    for (int lane = begin; lane < end; lane += R::kWidth) {
      found |= uint64_t{Bits(AtMost(R::Load(values + lane), bound))}
               << (lane - begin);
    }
    if (found != 0 || end == lanes) return begin + __builtin_ctzll(found);
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
  return FirstAtMost<R>(distances, layout.anchor_lanes, Least(least));
}

// Writes the rank of each row; returns the least of a few lanes' ranks.
template <typename R, Shape kShape, int kRegimes, bool kOverlaps>
WAVETUNE_KERNEL_INLINE R RankRows(const RowLayout& layout,
                                  const LaneInputs& inputs,
                                  const SegmentPlane& plane,
                                  const uint64_t* excluded, RowResults& results,
                                  R& largest) {
  constexpr int kColumns = kOverlaps ? kOverlapColumns : kSumColumns;
  const bool any_excluded = (excluded[0] | excluded[1]) != 0;
  const Locator<R, kShape> locator(layout, inputs);
  const LaneBlock* block = plane.blocks;
  const int regimes = kRegimes == 0 ? plane.wave_regimes : kRegimes;
  R best = R::Of(kNoRow);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    const int offset = lane % kBlockLanes;
    if (offset == 0 && lane != 0) block += regimes * kColumns;
    const LanePlace<R> at = locator.At(lane, largest);
    const LaneSegments<R, kRegimes, kColumns> c(layout, block, offset, regimes,
                                                at.waves);
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

template <typename R, Shape kShape, int kRegimes, bool kOverlaps>
bool ChooseRow(const RowLayout& layout, const LaneInputs& inputs,
               const SegmentPlane& plane, const uint64_t* excluded,
               RowChoice& choice) noexcept {
  RowResults results;
  R largest = R::Of(0);
  const double best = Least(RankRows<R, kShape, kRegimes, kOverlaps>(
      layout, inputs, plane, excluded, results, largest));
  if (!Fits(largest)) return false;
  choice.lane = -1;
  if (best == kNoRow) return true;
  const int lane =
      FirstAtMost<R>(results.rank_us, layout.lanes, best * layout.tie_factor);
  choice.lane = lane;
  choice.latency_us = results.latency_us[lane];
  choice.waves = results.waves[lane];
  choice.iterations = results.iterations[lane];
  choice.anchor = NearestAnchor<R>(layout, choice.iterations);
  return true;
}

template <typename R, Shape kShape, int kRegimes>
WAVETUNE_KERNEL_INLINE bool ChooseRowOfForm(const RowLayout& layout,
                                            const LaneInputs& inputs,
                                            const SegmentPlane& plane,
                                            const uint64_t* excluded,
                                            RowChoice& choice) {
  return layout.overlaps ? ChooseRow<R, kShape, kRegimes, true>(
                               layout, inputs, plane, excluded, choice)
                         : ChooseRow<R, kShape, kRegimes, false>(
                               layout, inputs, plane, excluded, choice);
}

template <typename R>
bool ChooseRowOf(const RowLayout& layout, const LaneInputs& inputs,
                 const SegmentPlane& plane, const uint64_t* excluded,
                 RowChoice& choice) noexcept {
  if (plane.wave_regimes == 2) {  // As FitTable makes them.
    switch (ShapeOf(layout)) {
      case Shape::kGemm:
        return ChooseRowOfForm<R, Shape::kGemm, 2>(layout, inputs, plane,
                                                   excluded, choice);
      case Shape::kGroupedGemm:
        return ChooseRowOfForm<R, Shape::kGroupedGemm, 2>(layout, inputs, plane,
                                                          excluded, choice);
      case Shape::kAny:
        return ChooseRowOfForm<R, Shape::kAny, 2>(layout, inputs, plane,
                                                  excluded, choice);
    }
  }
  if (plane.wave_regimes == 1) {
    return ChooseRowOfForm<R, Shape::kAny, 1>(layout, inputs, plane, excluded,
                                              choice);
  }
  return ChooseRowOfForm<R, Shape::kAny, 0>(layout, inputs, plane, excluded,
                                            choice);
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

template <typename R>
bool AllInRange(const int64_t* elements, size_t element_count, int64_t min,
                int64_t max) noexcept {
  size_t i = 0;
  for (; i + R::kWidth <= element_count; i += R::kWidth) {
    if (Bits(R::Outside(elements + i, min, max)) != 0) return false;
  }
  for (; i < element_count; ++i) {
    if (elements[i] < min || elements[i] > max) return false;
  }
  return true;
}

template <typename R>
constexpr RowKernel MakeRowKernel() {
  return {ChooseRowOf<R>, LocateRows<R>, CountBelow<R>, SumQuotients<R>,
          AllInRange<R>};
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_ROW_KERNEL_IMPL_H_
