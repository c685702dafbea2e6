// ColdRotation: which slice of an allocation the next launch reads.
//
// Serving reads weights cold, so a cold operand gets another slice of a larger
// allocation for each launch. How cold a slice is depends on the slice's size
// alone, never on what was measured before.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_COLD_ROTATION_H_
#define WAVETUNE_PROFILER_AGENT_COLD_ROTATION_H_

#include <cstddef>

namespace wavetune {

// Returns how many bytes to rotate over for a last-level cache of `cache_bytes`
// bytes: a quarter more than an accelerator's cache; on a CPU twice the cache,
// or, where that is too much, a part of it that is more than the cores' own
// caches. Cannot fail.
size_t ColdBytes(size_t cache_bytes, bool is_cpu);

class ColdRotation {
 public:
  // `cold_bytes` is to rotate over; 0: every launch gets the first slice.
  explicit ColdRotation(size_t cold_bytes) : cold_bytes_(cold_bytes) {}

  size_t cold_bytes() const { return cold_bytes_; }

  // Returns the offset of the next launch's slice of `slice` bytes in an
  // allocation of `size` >= `slice` bytes: the one after the last, or the first
  // where that leaves the allocation or what is to be rotated over.
  size_t NextOffset(size_t slice, size_t size);

  // The next slice is the second again.
  void Restart() { cursor_ = 0; }

 private:
  size_t cold_bytes_;
  size_t cursor_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_COLD_ROTATION_H_
