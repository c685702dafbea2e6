// Exact quotients of whole numbers in binary64, for code that divides many
// numbers at once: SIMD units divide doubles, not integers, and multiply ten
// times as fast as they divide.
//
//   const double inverse = InverseBelow(48);
//   std::ceil(x * inverse)  // == ceil(x / 48) for whole x in [0, 2^51]
//
// Why that is exact. Let d be the divisor, i = InverseBelow(d) the largest
// double <= 1/d, x a whole number in [0, 2^51], q = ceil(x / d), and fl()
// rounding to nearest. All whole numbers up to 2^53 are doubles and rounding is
// monotone, so that fl(y) <= n for y <= n where n is such a number.
//
//  - Never above: x * i <= x / d <= q, so fl(x * i) <= q.
//  - Never below, that is fl(x * i) > q - 1 for q >= 1. The double after i is
//    above 1/d, hence 1/d - i < 2^-52 * i <= 2^-52 / d. As x / d > q - 1 and
//    both have the denominator d, x / d >= q - 1 + 1/d. Together
//      x * i - (q - 1) > 1/d - 2^-52 * x / d.
//    Rounding gives q - 1 only within half of the distance to the next double,
//    at most 2^-53 * (q - 1) < 2^-53 * x / d. The left side is above that where
//    1 >= 1.5 * 2^-52 * x, and x <= 2^51 makes this 0.75.
//  - q = 0 only for x = 0, where everything is 0.
//
// And a division of its own needs no inverse: ceil(fl(x / d)) == ceil(x / d)
// for whole x, d in [1, 2^52]. fl(x / d) <= q as above. It is above q - 1, as
// x / d >= q - 1 + 1/d. Half of the distance after q - 1 is at most
// 2^-53 * (q - 1) < 2^-53 * x / d < 1/d.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_DECIDE_EXACT_QUOTIENT_H_
#define WAVETUNE_MODEL_DECIDE_EXACT_QUOTIENT_H_

#include <bit>
#include <cstdint>

namespace wavetune {

// Largest dividend that the above holds for.
inline constexpr int64_t kExactQuotientLimit = int64_t{1} << 51;

// Returns the largest double <= 1 / divisor; divisor in [1, 2^52].
inline double InverseBelow(int64_t divisor) {
  const double nearest = 1.0 / static_cast<double>(divisor);
  // nearest = significand * 2^-scale with scale in [52, 105]: the comparison
  // with 1 / divisor is one of integers.
  using Wide = unsigned __int128;
  const auto bits = std::bit_cast<uint64_t>(nearest);
  const uint64_t significand =
      (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const int scale = 1075 - static_cast<int>(bits >> 52);
  const bool above =
      Wide{significand} * static_cast<uint64_t>(divisor) > Wide{1} << scale;
  return above ? std::bit_cast<double>(bits - 1) : nearest;
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_EXACT_QUOTIENT_H_
