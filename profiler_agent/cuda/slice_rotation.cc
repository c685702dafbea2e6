#include "profiler_agent/cuda/slice_rotation.h"

#include <algorithm>
#include <bit>

namespace wavetune {
namespace {

constexpr size_t kAssumedCacheBytes = size_t{64} << 20;

size_t RoundUp(size_t bytes) {
  constexpr size_t kMask = SliceRotation::kAlignment - 1;
  return (std::max<size_t>(bytes, 1) + kMask) & ~kMask;
}

}  // namespace

size_t SliceRotation::WantedBytes(size_t bytes, size_t max_bytes) const {
  const size_t slice = RoundUp(bytes);
  if (slice > max_bytes) return 0;
  return std::min(max_bytes, std::bit_ceil(slice) + cold_bytes_);
}

bool SliceRotation::Suffices(size_t bytes, size_t size) const {
  return RoundUp(bytes) + cold_bytes_ <= size;
}

bool SliceRotation::Fits(size_t bytes, size_t size) const {
  return RoundUp(bytes) <= size;
}

size_t SliceRotation::Next(size_t bytes, size_t size) {
  if (cold_bytes_ == 0) return 0;
  const size_t slice = RoundUp(bytes);
  // Not over all of a memory that an earlier, larger problem wanted: how cold a
  // slice is must not depend on what was measured before.
  cursor_ += slice;
  if (cursor_ + slice > std::min(size, slice + cold_bytes_)) cursor_ = 0;
  return cursor_;
}

size_t ColdBytesOf(size_t cache_bytes) {
  const size_t cache = cache_bytes == 0 ? kAssumedCacheBytes : cache_bytes;
  return cache / 4 * 5;
}

}  // namespace wavetune
