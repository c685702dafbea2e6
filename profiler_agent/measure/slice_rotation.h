// SliceRotation: which part of an allocation the next launch uses. Pure
// arithmetic.
//
// Serving reads weights cold, so a cold operand gets another slice of a larger
// allocation for each launch. How cold a slice is depends on its size alone,
// never on earlier measurements.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_SLICE_ROTATION_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_SLICE_ROTATION_H_

#include <cstddef>

#include "model/kernel/argument.h"
#include "model/kernel/device.h"

namespace wavetune {

class SliceRotation {
 public:
  // Slices start at multiples of this: above every alignment that kernels and
  // tensor maps ask for.
  static constexpr size_t kAlignment = 4096;

  // `cold_bytes` to rotate over; 0: always the same slice.
  explicit SliceRotation(size_t cold_bytes) : cold_bytes_(cold_bytes) {}

  // Returns how large an allocation of at most `max_bytes` should be for slices
  // of `bytes`. That is a power of two, so that growing problems do not fill it
  // again and again, and the rotation. It is less where that is too much, and 0
  // where not one slice fits. Keeps nothing.
  size_t WantedBytes(size_t bytes, size_t max_bytes) const;

  // Return whether an allocation of `size` has room for a slice of `bytes` and
  // the rotation, and for the slice.
  bool Suffices(size_t bytes, size_t size) const;
  bool Fits(size_t bytes, size_t size) const;

  // Returns where the next slice of `bytes` starts in an allocation of `size`.
  size_t Next(size_t bytes, size_t size);

  // Starts at the beginning again.
  void Reset() { cursor_ = 0; }

 private:
  size_t cold_bytes_;
  size_t cursor_ = 0;
};

// Returns how many bytes to rotate over for a last-level cache of `cache_bytes`
// bytes; 0 (unknown) counts as 64 MiB, larger than those of most devices. On an
// accelerator four times the cache, as caches are not perfectly LRU. On a CPU
// twice the cache, or, where that is too much, a part of it that is more than
// the cores' own caches. Cannot fail.
size_t ColdBytes(size_t cache_bytes, bool is_cpu);

// The same for an argument of a kernel on a device; 0 where it is not cold, or
// begins without values.
size_t ColdBytesOf(const Argument& argument, const DeviceFacts& facts,
                   bool is_cpu);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_SLICE_ROTATION_H_
