// SimdPath::kNeon: two lanes. Every AArch64 CPU has it.
#include "model/decide/simd/lane_kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "model/decide/simd/lane_kernel_impl.h"

namespace wavetune {
namespace {

struct NeonMask {
  uint64x2_t bits;  // All of a lane's, or none.
};

struct Neon {
  using Mask = NeonMask;
  using Single = Neon;
  struct Sixteen;
  static constexpr int kWidth = 2;

  float64x2_t value;

  static Neon Load(const double* from) { return {vld1q_f64(from)}; }
  static Neon Of(double value) { return {vdupq_n_f64(value)}; }
  static Neon FromIntegers(const int64_t* from) {
    return {vcvtq_f64_s64(vld1q_s64(from))};
  }
  static Neon OfInteger(const int64_t* from) {
    return {vcvtq_f64_s64(vld1q_dup_s64(from))};
  }
  static NeonMask MaskOf(uint64_t bits) {
    const uint64x2_t lanes = vcombine_u64(vcreate_u64(1), vcreate_u64(2));
    return {vtstq_u64(vdupq_n_u64(bits), lanes)};
  }
  static Neon OfBits(uint64_t bits) {
    return {vreinterpretq_f64_u64(vdupq_n_u64(bits))};
  }
  static NeonMask MaskAt(Neon words, int first) {
    const uint64x2_t bits = vcombine_u64(vcreate_u64(uint64_t{1} << first),
                                         vcreate_u64(uint64_t{2} << first));
    return {vtstq_u64(vreinterpretq_u64_f64(words.value), bits)};
  }
  static NeonMask Outside(const int64_t* from, int64_t min, int64_t max) {
    const int64x2_t integers = vld1q_s64(from);
    return {vorrq_u64(vcltq_s64(integers, vdupq_n_s64(min)),
                      vcgtq_s64(integers, vdupq_n_s64(max)))};
  }
  void Store(double* to) const { vst1q_f64(to, value); }

  friend Neon operator+(Neon a, Neon b) {
    return {vaddq_f64(a.value, b.value)};
  }
  friend Neon operator-(Neon a, Neon b) {
    return {vsubq_f64(a.value, b.value)};
  }
  friend Neon operator*(Neon a, Neon b) {
    return {vmulq_f64(a.value, b.value)};
  }
  friend Neon operator/(Neon a, Neon b) {
    return {vdivq_f64(a.value, b.value)};
  }
  // Not vmaxq and vminq: of 0 and -0 they give the one with the sign.
  friend Neon Max(Neon a, Neon b) { return Select(Greater(a, b), a, b); }
  friend Neon Min(Neon a, Neon b) { return Select(Greater(b, a), a, b); }
  friend Neon Ceil(Neon a) { return {vrndpq_f64(a.value)}; }
  friend Neon Magnitude(Neon a) { return {vabsq_f64(a.value)}; }
  friend NeonMask Greater(Neon a, Neon b) {
    return {vcgtq_f64(a.value, b.value)};
  }
  friend NeonMask AtMost(Neon a, Neon b) {
    return {vcleq_f64(a.value, b.value)};
  }
  friend Neon LeastOfAll(Neon a) { return {vdupq_n_f64(vminvq_f64(a.value))}; }
  friend Neon Select(NeonMask mask, Neon a, Neon b) {
    return {vbslq_f64(mask.bits, a.value, b.value)};
  }
};

struct Neon::Sixteen {
  double values[16];

  void Set(int at, Neon some) { some.Store(values + at); }
  Neon Pick(const int64_t* places) const {
    return {vcombine_f64(vld1_f64(values + places[0]),
                         vld1_f64(values + places[1]))};
  }
  static int64_t PlaceOf(int index) { return index; }
};

NeonMask Either(NeonMask a, NeonMask b) { return {vorrq_u64(a.bits, b.bits)}; }
unsigned Bits(NeonMask mask) {
  return static_cast<unsigned>((vgetq_lane_u64(mask.bits, 0) & 1) |
                               (vgetq_lane_u64(mask.bits, 1) & 2));
}

constexpr LaneKernel kKernel = MakeLaneKernel<Neon>();

}  // namespace

const LaneKernel* const kNeonLaneKernel = &kKernel;

}  // namespace wavetune

#else

namespace wavetune {
const LaneKernel* const kNeonLaneKernel = nullptr;
}  // namespace wavetune

#endif
