#include "profiler_agent/cold_rotation.h"

#include <algorithm>

namespace wavetune {
namespace {

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

}  // namespace

size_t ColdBytes(size_t cache_bytes, bool is_cpu) {
  // A quarter above the cache, as caches are not perfectly LRU.
  if (!is_cpu) return cache_bytes / 4 * 5;
  const size_t beyond = kBeyondCpuCache * cache_bytes;
  return beyond <= kMostCpuColdBytes ? beyond : cache_bytes / kInsideCpuCache;
}

size_t ColdRotation::NextOffset(size_t slice, size_t size) {
  if (cold_bytes_ == 0) return 0;
  cursor_ += slice;
  // Not over all of a memory that an earlier, larger problem wanted.
  if (cursor_ + slice > std::min(size, slice + cold_bytes_)) cursor_ = 0;
  return cursor_;
}

}  // namespace wavetune
