// SimdPath::kAvx512: eight lanes. Compiled with -mavx512f -mavx512dq
// (model/CMakeLists.txt), and called only where the CPU has both.
#include "model/decide/simd/lane_kernel.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <immintrin.h>

#include "model/decide/simd/lane_kernel_impl.h"

namespace wavetune {
namespace {

struct Avx512Mask {
  __mmask8 bits;
};

#define WAVETUNE_EIGHT_BITS(from)                                            \
  uint64_t{1} << (from), uint64_t{2} << (from), uint64_t{4} << (from),       \
      uint64_t{8} << (from), uint64_t{16} << (from), uint64_t{32} << (from), \
      uint64_t{64} << (from), uint64_t{128} << (from)
// Each bit of a word alone.
alignas(64) constexpr uint64_t kBits[] = {
    WAVETUNE_EIGHT_BITS(0),  WAVETUNE_EIGHT_BITS(8),  WAVETUNE_EIGHT_BITS(16),
    WAVETUNE_EIGHT_BITS(24), WAVETUNE_EIGHT_BITS(32), WAVETUNE_EIGHT_BITS(40),
    WAVETUNE_EIGHT_BITS(48), WAVETUNE_EIGHT_BITS(56)};
#undef WAVETUNE_EIGHT_BITS

struct Avx512 {
  using Mask = Avx512Mask;
  using Single = Avx512;
  struct Sixteen;
  static constexpr int kWidth = 8;

  __m512d value;

  static Avx512 Load(const double* from) { return {_mm512_loadu_pd(from)}; }
  static Avx512 Of(double value) { return {_mm512_set1_pd(value)}; }
  static Avx512 FromIntegers(const int64_t* from) {
    return {_mm512_cvtepi64_pd(_mm512_loadu_si512(from))};
  }
  static Avx512 OfInteger(const int64_t* from) {
    return {_mm512_cvtepi64_pd(_mm512_set1_epi64(*from))};
  }
  static Avx512Mask MaskOf(uint64_t bits) {
    return {static_cast<__mmask8>(bits)};
  }
  static Avx512 OfBits(uint64_t bits) {
    return {_mm512_castsi512_pd(_mm512_set1_epi64(static_cast<int64_t>(bits)))};
  }
  static Avx512Mask MaskAt(Avx512 words, int first) {
    return {_mm512_test_epi64_mask(_mm512_castpd_si512(words.value),
                                   _mm512_load_si512(kBits + first))};
  }
  static Avx512Mask Outside(const int64_t* from, int64_t min, int64_t max) {
    const __m512i integers = _mm512_loadu_si512(from);
    return {static_cast<__mmask8>(
        _mm512_cmplt_epi64_mask(integers, _mm512_set1_epi64(min)) |
        _mm512_cmpgt_epi64_mask(integers, _mm512_set1_epi64(max)))};
  }
  void Store(double* to) const { _mm512_storeu_pd(to, value); }

  friend Avx512 operator+(Avx512 a, Avx512 b) {
    return {_mm512_add_pd(a.value, b.value)};
  }
  friend Avx512 operator-(Avx512 a, Avx512 b) {
    return {_mm512_sub_pd(a.value, b.value)};
  }
  friend Avx512 operator*(Avx512 a, Avx512 b) {
    return {_mm512_mul_pd(a.value, b.value)};
  }
  friend Avx512 operator/(Avx512 a, Avx512 b) {
    return {_mm512_div_pd(a.value, b.value)};
  }
  // maxpd and minpd give the second operand where neither is larger.
  friend Avx512 Max(Avx512 a, Avx512 b) {
    return {_mm512_max_pd(a.value, b.value)};
  }
  friend Avx512 Min(Avx512 a, Avx512 b) {
    return {_mm512_min_pd(a.value, b.value)};
  }
  friend Avx512 Ceil(Avx512 a) {
    return {_mm512_roundscale_pd(a.value,
                                 _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)};
  }
  friend Avx512 Magnitude(Avx512 a) { return {_mm512_abs_pd(a.value)}; }
  friend Avx512Mask Greater(Avx512 a, Avx512 b) {
    return {_mm512_cmp_pd_mask(a.value, b.value, _CMP_GT_OQ)};
  }
  friend Avx512Mask AtMost(Avx512 a, Avx512 b) {
    return {_mm512_cmp_pd_mask(a.value, b.value, _CMP_LE_OQ)};
  }
  friend Avx512 LeastOfAll(Avx512 a) {
    const __m512d halves = _mm512_min_pd(
        a.value, _mm512_shuffle_f64x2(a.value, a.value, 0b01001110));
    const __m512d quarters =
        _mm512_min_pd(halves, _mm512_shuffle_f64x2(halves, halves, 0b10110001));
    return {_mm512_min_pd(quarters, _mm512_permute_pd(quarters, 0b01010101))};
  }
  friend Avx512 Select(Avx512Mask mask, Avx512 a, Avx512 b) {
    return {_mm512_mask_blend_pd(mask.bits, b.value, a.value)};
  }
};

// Two registers: picking is one instruction.
struct Avx512::Sixteen {
  __m512d low;
  __m512d high;

  void Set(int at, Avx512 values) { (at == 0 ? low : high) = values.value; }
  Avx512 Pick(const int64_t* places) const {
    return {_mm512_permutex2var_pd(low, _mm512_loadu_si512(places), high)};
  }
  static int64_t PlaceOf(int index) { return index; }
};

Avx512Mask Either(Avx512Mask a, Avx512Mask b) {
  return {static_cast<__mmask8>(a.bits | b.bits)};
}
unsigned Bits(Avx512Mask mask) { return mask.bits; }

constexpr LaneKernel kKernel = MakeLaneKernel<Avx512>();

}  // namespace

const LaneKernel* const kAvx512LaneKernel = &kKernel;

}  // namespace wavetune

#else

namespace wavetune {
const LaneKernel* const kAvx512LaneKernel = nullptr;
}  // namespace wavetune

#endif
