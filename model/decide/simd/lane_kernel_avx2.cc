// SimdPath::kAvx2: four lanes. Compiled with -mavx2 (model/CMakeLists.txt), and
// called only where the CPU has it.
#include "model/decide/simd/lane_kernel.h"

#if defined(__AVX2__)

#include <immintrin.h>

#include "model/decide/simd/lane_kernel_impl.h"
#include "model/decide/simd/lane_kernel_paired.h"

namespace wavetune {
namespace {

struct Avx2Mask {
  __m256d bits;  // Of each lane the highest is read.
};

// How far each bit of a word is from its highest one.
alignas(32) constexpr int64_t kToHighest[] = {
    63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
    47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
    31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
    15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0};

struct Avx2 {
  using Mask = Avx2Mask;
  using Single = Avx2;
  struct Sixteen;
  static constexpr int kWidth = 4;

  __m256d value;

  static Avx2 Load(const double* from) { return {_mm256_loadu_pd(from)}; }
  static Avx2 Of(double value) { return {_mm256_set1_pd(value)}; }
  // Below 2^52 the bits of x are the fraction of 2^52 + x.
  static Avx2 FromIntegers(const int64_t* from) {
    const __m256d power = _mm256_set1_pd(0x1p52);
    const __m256i integers =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return {_mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(integers), power),
                          power)};
  }
  static Avx2 OfInteger(const int64_t* from) {
    return {_mm256_set1_pd(static_cast<double>(*from))};
  }
  static Avx2Mask MaskOf(uint64_t bits) {
    const __m256i lanes = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i set =
        _mm256_and_si256(_mm256_set1_epi64x(static_cast<int64_t>(bits)), lanes);
    return {_mm256_castsi256_pd(_mm256_cmpeq_epi64(set, lanes))};
  }
  static Avx2 OfBits(uint64_t bits) {
    return {
        _mm256_castsi256_pd(_mm256_set1_epi64x(static_cast<int64_t>(bits)))};
  }
  static Avx2Mask MaskAt(Avx2 words, int first) {
    return {_mm256_castsi256_pd(_mm256_sllv_epi64(
        _mm256_castpd_si256(words.value),
        _mm256_load_si256(
            reinterpret_cast<const __m256i*>(kToHighest + first))))};
  }
  static Avx2Mask Outside(const int64_t* from, int64_t min, int64_t max) {
    const __m256i integers =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return {_mm256_castsi256_pd(_mm256_or_si256(
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(min), integers),
        _mm256_cmpgt_epi64(integers, _mm256_set1_epi64x(max))))};
  }
  void Store(double* to) const { _mm256_storeu_pd(to, value); }

  friend Avx2 operator+(Avx2 a, Avx2 b) {
    return {_mm256_add_pd(a.value, b.value)};
  }
  friend Avx2 operator-(Avx2 a, Avx2 b) {
    return {_mm256_sub_pd(a.value, b.value)};
  }
  friend Avx2 operator*(Avx2 a, Avx2 b) {
    return {_mm256_mul_pd(a.value, b.value)};
  }
  friend Avx2 operator/(Avx2 a, Avx2 b) {
    return {_mm256_div_pd(a.value, b.value)};
  }
  // maxpd and minpd give the second operand where neither is larger.
  friend Avx2 Max(Avx2 a, Avx2 b) { return {_mm256_max_pd(a.value, b.value)}; }
  friend Avx2 Min(Avx2 a, Avx2 b) { return {_mm256_min_pd(a.value, b.value)}; }
  friend Avx2 Ceil(Avx2 a) { return {_mm256_ceil_pd(a.value)}; }
  friend Avx2 Magnitude(Avx2 a) {
    return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.value)};
  }
  friend Avx2Mask Greater(Avx2 a, Avx2 b) {
    return {_mm256_cmp_pd(a.value, b.value, _CMP_GT_OQ)};
  }
  friend Avx2Mask AtMost(Avx2 a, Avx2 b) {
    return {_mm256_cmp_pd(a.value, b.value, _CMP_LE_OQ)};
  }
  friend Avx2 LeastOfAll(Avx2 a) {
    const __m256d halves =
        _mm256_min_pd(a.value, _mm256_permute2f128_pd(a.value, a.value, 1));
    return {_mm256_min_pd(halves, _mm256_permute_pd(halves, 0b0101))};
  }
  friend Avx2 Select(Avx2Mask mask, Avx2 a, Avx2 b) {
    return {_mm256_blendv_pd(b.value, a.value, mask.bits)};
  }
};

// Four registers, picked from by permutations: `place_of` says how.
struct Avx2::Sixteen {
  __m256 quarters[4];
  bool many = false;  // Than eight numbers.

  void Set(int at, Avx2 some) {
    quarters[at / kWidth] = _mm256_castpd_ps(some.value);
    many = at >= 2 * kWidth;
  }
  Avx2 Pick(const int64_t* places) const {
    const __m256i at =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places));
    const __m256 half = PickHalf(quarters, at);
    if (!many) return {_mm256_castps_pd(half)};
    const __m256 other = PickHalf(quarters + 2, at);
    const __m256 is_other = _mm256_castsi256_ps(_mm256_slli_epi32(at, 1));
    return {_mm256_castps_pd(_mm256_blendv_ps(half, other, is_other))};
  }

  // Each half of a place is where that half of a number is in its register:
  // three bits; the highest bit says which register of two, the next one which
  // two.
  static int64_t PlaceOf(int index) {
    const auto low = static_cast<uint64_t>(index % 4 * 2) |
                     static_cast<uint64_t>(index / 4 % 2) << 31 |
                     static_cast<uint64_t>(index / 8) << 30;
    return static_cast<int64_t>((low | 1) << 32 | low);
  }

 private:
  static __m256 PickHalf(const __m256* two, __m256i at) {
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(two[0], at),
                            _mm256_permutevar8x32_ps(two[1], at),
                            _mm256_castsi256_ps(at));
  }
};

Avx2Mask Either(Avx2Mask a, Avx2Mask b) {
  return {_mm256_or_pd(a.bits, b.bits)};
}
unsigned Bits(Avx2Mask mask) {
  return static_cast<unsigned>(_mm256_movemask_pd(mask.bits));
}

constexpr LaneKernel kKernel = MakeLaneKernel<Avx2, Paired<Avx2>>();

}  // namespace

const LaneKernel* const kAvx2LaneKernel = &kKernel;

}  // namespace wavetune

#else

namespace wavetune {
const LaneKernel* const kAvx2LaneKernel = nullptr;
}  // namespace wavetune

#endif
