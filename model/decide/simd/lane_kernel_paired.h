// Part of the lane kernels: two registers as one.
//
// A few lanes' arithmetic is one long chain, each step of which waits for the
// one before it, and a processor looks ahead only so far. Two chains whose
// steps alternate take little longer than one.
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PAIRED_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PAIRED_H_

#include <cstdint>

#include "model/decide/simd/lane_kernel_register.h"

namespace wavetune {

template <typename R>
struct PairedMask {
  typename R::Mask low;
  typename R::Mask high;

  friend PairedMask Either(PairedMask a, PairedMask b) {
    return {Either(a.low, b.low), Either(a.high, b.high)};
  }
  friend unsigned Bits(PairedMask mask) {
    return Bits(mask.low) | Bits(mask.high) << R::kWidth;
  }
};

// A register type (lane_kernel_register.h) of twice R's lanes. `low` has the
// first ones.
template <typename R>
struct Paired {
  using Mask = PairedMask<R>;
  using Single = R;
  struct Sixteen;
  static constexpr int kWidth = 2 * R::kWidth;

  R low;
  R high;

  static Paired Load(const double* from) {
    return {R::Load(from), R::Load(from + R::kWidth)};
  }
  static Paired Of(double value) { return {R::Of(value), R::Of(value)}; }
  static Paired OfInteger(const int64_t* from) {
    const R one = R::OfInteger(from);
    return {one, one};
  }
  static Mask MaskOf(uint64_t bits) {
    return {R::MaskOf(bits), R::MaskOf(bits >> R::kWidth)};
  }
  static Paired OfBits(uint64_t bits) {
    return {R::OfBits(bits), R::OfBits(bits)};
  }
  static Mask MaskAt(Paired words, int first) {
    return {R::MaskAt(words.low, first),
            R::MaskAt(words.high, first + R::kWidth)};
  }
  void Store(double* to) const {
    low.Store(to);
    high.Store(to + R::kWidth);
  }

  friend Paired operator+(Paired a, Paired b) {
    return {a.low + b.low, a.high + b.high};
  }
  friend Paired operator-(Paired a, Paired b) {
    return {a.low - b.low, a.high - b.high};
  }
  friend Paired operator*(Paired a, Paired b) {
    return {a.low * b.low, a.high * b.high};
  }
  friend Paired Max(Paired a, Paired b) {
    return {Max(a.low, b.low), Max(a.high, b.high)};
  }
  friend Paired Min(Paired a, Paired b) {
    return {Min(a.low, b.low), Min(a.high, b.high)};
  }
  friend Paired Ceil(Paired a) { return {Ceil(a.low), Ceil(a.high)}; }
  friend Mask Greater(Paired a, Paired b) {
    return {Greater(a.low, b.low), Greater(a.high, b.high)};
  }
  friend Mask AtMost(Paired a, Paired b) {
    return {AtMost(a.low, b.low), AtMost(a.high, b.high)};
  }
  friend Paired LeastOfAll(Paired a) {
    const R all = LeastOfAll(Min(a.low, a.high));
    return {all, all};
  }
  friend Paired Select(Mask mask, Paired a, Paired b) {
    return {Select(mask.low, a.low, b.low), Select(mask.high, a.high, b.high)};
  }
};

// Set in R's width, for which there may be half as much to do.
template <typename R>
struct Paired<R>::Sixteen {
  typename R::Sixteen values;

  Paired Pick(const int64_t* places) const {
    return {values.Pick(places), values.Pick(places + R::kWidth)};
  }
  static int64_t PlaceOf(int index) { return R::Sixteen::PlaceOf(index); }
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_PAIRED_H_
