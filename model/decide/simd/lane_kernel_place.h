// Part of the lane kernels: where a problem lies under each lane's macro
// configuration.
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PLACE_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PLACE_H_

#include "model/decide/simd/lane_kernel.h"
#include "model/decide/simd/lane_kernel_register.h"

namespace wavetune {

// How a layout's coordinates are made. Grouped GEMM has code of its own,
// without the branches of the others. Its first axis of tiles is a sum over
// experts, made before; the second and each tile's loop are quotients. Plain
// GEMM does not come here (model/decide/simd/lane_kernel_fast_path.h).
enum class Shape { kAny, kGroupedGemm };

static WAVETUNE_KERNEL_INLINE Shape ShapeOf(const LaneLayout& layout) {
  const LaneFactor* const tiles = layout.tiles.factors;
  if (layout.tiles.factor_count != 2 || layout.loop.factor_count != 1 ||
      layout.loop_is_total || layout.has_longest || !tiles[0].from_lanes ||
      tiles[1].from_lanes || layout.loop.factors[0].from_lanes) {
    return Shape::kAny;
  }
  return Shape::kGroupedGemm;
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
  R row_share;  // WaveForm::kOverlap alone.
};

// RowShare (model/kernel/mapping.h) of MapProblem's rows; extent >= 1.
template <typename R>
WAVETUNE_KERNEL_INLINE R RowShareOf(R extent, R tile, R inverse_tile) {
  const R one = R::Of(1);
  const R rows = Ceil(extent * inverse_tile);
  const typename R::Mask several = Greater(rows, one);
  const R share = Select(several, one, extent) / Select(several, rows, tile);
  return Select(several, share, one - share);
}

template <typename R>
WAVETUNE_KERNEL_INLINE R WavesOf(const LaneLayout& layout, R tiles, int lane) {
  return Ceil(tiles * R::Load(layout.inverse_tiles_per_wave + lane));
}

// Finds the places of all lanes, a few at a time. `largest` collects what must
// be at most kLaneLimit.
template <typename R, Shape kShape>
class Locator {
 public:
  WAVETUNE_KERNEL_INLINE Locator(const LaneLayout& layout,
                                 const LaneInputs& inputs)
      : layout_(layout), inputs_(inputs) {}

  WAVETUNE_KERNEL_INLINE LanePlace<R> At(int lane, R& largest) const {
    const int lanes = layout_.lanes;
    const R tiles = ProductOf<R>(layout_.tiles, lane, lanes, inputs_);
    const R loop = ProductOf<R>(layout_.loop, lane, lanes, inputs_);
    largest = Max(largest, Max(tiles, loop));
    LanePlace<R> at = {tiles, loop, loop, WavesOf(layout_, tiles, lane),
                       R::Of(0)};
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
  const LaneLayout& layout_;
  const LaneInputs& inputs_;
};

// What does not depend on the lanes stays in registers.
template <typename R>
class Locator<R, Shape::kGroupedGemm> {
 public:
  WAVETUNE_KERNEL_INLINE Locator(const LaneLayout& layout,
                                 const LaneInputs& inputs)
      : layout_(layout),
        tiles_(layout.tiles.constants),
        loop_(layout.loop.constants),
        inverse0_(layout.tiles.factors[0].inverse),
        inverse1_(layout.tiles.factors[1].inverse),
        inverse2_(layout.loop.factors[0].inverse),
        numbers0_(inputs.lane_values +
                  layout.tiles.factors[0].source * layout.lanes),
        number1_(R::Of(inputs.values[layout.tiles.factors[1].source])),
        number2_(R::Of(inputs.values[layout.loop.factors[0].source])) {}

  WAVETUNE_KERNEL_INLINE LanePlace<R> At(int lane, R& largest) const {
    const R rows = Ceil(R::Load(numbers0_ + lane) * R::Load(inverse0_ + lane));
    const R columns = Ceil(number1_ * R::Load(inverse1_ + lane));
    const R length = Ceil(number2_ * R::Load(inverse2_ + lane));
    const R tiles = Max((R::Load(tiles_ + lane) * rows) * columns, R::Of(1));
    const R loop = Max(R::Load(loop_ + lane) * length, R::Of(1));
    largest = Max(largest, Max(tiles, loop));
    return {tiles, loop, loop, WavesOf(layout_, tiles, lane), R::Of(0)};
  }

 private:
  const LaneLayout& layout_;
  const double* tiles_;
  const double* loop_;
  const double* inverse0_;
  const double* inverse1_;
  const double* inverse2_;
  const double* numbers0_;
  R number1_;
  R number2_;
};

template <typename R>
WAVETUNE_KERNEL_INLINE bool Fits(R largest) {
  return Bits(Greater(largest, R::Of(kLaneLimit))) == 0;
}

template <typename R>
bool LocateLanes(const LaneLayout& layout, const LaneInputs& inputs,
                 double* waves) noexcept {
  R largest = R::Of(0);
  const Locator<R, Shape::kAny> locator(layout, inputs);
  for (int lane = 0; lane < layout.lanes; lane += R::kWidth) {
    locator.At(lane, largest).waves.Store(waves + lane);
  }
  return Fits(largest);
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PLACE_H_
