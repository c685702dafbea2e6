#include "profiler_agent/measure/slice_rotation.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace wavetune {
namespace {

constexpr size_t kAssumedCacheBytes = size_t{64} << 20;

// An accelerator's cache is not perfectly LRU, and kernels may ask it to keep
// nothing of what streams through. gemm_bf16 on an H200 (60 MiB, 14
// configurations, weights of 4 to 140 MiB): 1.25 times the cache reads 0-1.5 %
// faster than 4 times, 2 times within 0.7 %, 8 times within 0.8 %.
constexpr size_t kBeyondAcceleratorCache = 4;

// A CPU's operands lie either well beyond its last-level cache or well inside.
// In between, how much of it a tenant of a shared machine gets at the moment
// decides: gemm_f32 at m = 1, n = 2560, k = 960 took 82-111 us (quartiles)
// rotating over 4 MiB, 295-417 us over 16 MiB and 540-626 us over 64 MiB on two
// cores with 32 MiB of cache; the same on a socket that reports 260 MiB:
// 178-187 us over 24 or 48 MiB, 313-371 us over 128 MiB, 588-597 us over 320
// MiB.
// So: this many times the cache,
constexpr size_t kBeyondCpuCache = 2;
// but no more than this;
constexpr size_t kMostCpuColdBytes = size_t{128} << 20;
// else this part of the cache, which is more than the cores' own caches.
constexpr size_t kInsideCpuCache = 8;

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

size_t ColdBytes(size_t cache_bytes, bool is_cpu) {
  const size_t cache = cache_bytes == 0 ? kAssumedCacheBytes : cache_bytes;
  if (!is_cpu) return kBeyondAcceleratorCache * cache;
  const size_t beyond = kBeyondCpuCache * cache;
  return beyond <= kMostCpuColdBytes ? beyond : cache / kInsideCpuCache;
}

size_t ColdBytesOf(const Argument& argument, const DeviceFacts& facts,
                   bool is_cpu) {
  if (!argument.cold || !HoldsValues(argument)) return 0;
  return ColdBytes(
      static_cast<size_t>(std::max<int64_t>(facts.last_level_cache_bytes, 0)),
      is_cpu);
}

}  // namespace wavetune
