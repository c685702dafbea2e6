// Part of the lane kernels: what they ask of a register type.
//
// A register type R has
//
//   kWidth                     lanes; divides kBlockLanes
//   Mask                       one truth value per lane
//   Single                     itself; of pairs (lane_kernel_paired.h) one half
//   R Load(const double*), R Of(double), void Store(double*)
//   R FromIntegers(const int64_t*)       each in [0, 2^51]
//   R OfInteger(const int64_t*)          the one there, in all lanes
//   R OfBits(uint64_t)                   a word of bits in all lanes, and
//   Mask MaskAt(R, int first)            of each lane's word another bit: the
//                                        first, a multiple of kWidth below 64,
//                                        in the first lane, and so on
//   Mask Outside(const int64_t*, int64_t min, int64_t max)
//   +, -, *, /                           rounded to nearest, never contracted
//   Max(a, b), Min(a, b)                 a > b ? a : b; a < b ? a : b
//   Ceil(a)                              a in [0, 2^52]
//   Magnitude(a)
//   Sixteen                              as many numbers, kWidth at a time:
//                                        void Set(int at, Single), in order,
//                                        at a multiple of its width, and R
//                                        Pick(const int64_t*), kWidth of what
//                                        PlaceOf(index) returns
//   Greater(a, b), AtMost(a, b)-> Mask
//   Select(mask, a, b)                   mask ? a : b
//   R LeastOfAll(a)                      in all lanes; none of them is NaN
//   Mask Either(Mask, Mask); Mask MaskOf(uint64_t bits); unsigned Bits(Mask)
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_REGISTER_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_REGISTER_H_

#define WAVETUNE_KERNEL_INLINE inline __attribute__((always_inline))

// Before a loop of few turns, their number known to the compiler: none is left.
// GCC does not do so at -O2 by itself.
#if defined(__clang__)
#define WAVETUNE_KERNEL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WAVETUNE_KERNEL_UNROLL _Pragma("GCC unroll 64")
#endif

namespace wavetune {

// The rank of a lane that may not be chosen.
inline constexpr double kNoLane = __builtin_inf();

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_REGISTER_H_
