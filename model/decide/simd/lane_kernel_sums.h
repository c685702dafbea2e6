// Part of the lane kernels: lists of extents and of thresholds.
//
// For lane_kernel*.cc only; see model/decide/simd/lane_kernel_impl.h.
#ifndef WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_SUMS_H_
#define WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_SUMS_H_

#include <cstddef>
#include <cstdint>

#include "model/decide/simd/lane_kernel.h"
#include "model/decide/simd/lane_kernel_register.h"

namespace wavetune {

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

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_SIMD_LANE_KERNEL_SUMS_H_
