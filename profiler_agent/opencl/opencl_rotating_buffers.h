// OpenClRotatingBuffers: the memory behind one buffer argument while measuring.
//
// One allocation, filled with random values once, serves every problem: a
// sample would otherwise spend more time on filling buffers than on launches. A
// cold argument gets another slice for each launch (serving reads weights
// cold): over more than the last-level cache, or on a CPU whose cache is too
// large for that, over more than the cores' own caches.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ROTATING_BUFFERS_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ROTATING_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/argument.h"
#include "model/kernel/device.h"
#include "profiler_agent/measure/slice_rotation.h"
#include "profiler_agent/opencl/opencl_handle.h"

namespace wavetune {

class OpenClRotatingBuffers {
 public:
  // `seed` is of the random content.
  OpenClRotatingBuffers(const OpenClSession& session, const DeviceFacts& facts,
                        const Argument& argument, uint64_t seed);

  // Makes room for slices of `bytes`, on growing filled with random values
  // (inputs). Errors: RESOURCE_EXHAUSTED; the buffers are empty then.
  absl::Status Reserve(size_t bytes);

  // Returns the slice for the next launch: always the first one, or for a cold
  // argument the one after the last. `bytes` was reserved. Errors: as
  // OpenClStatus.
  absl::StatusOr<OpenClBuffer> NextSlice(size_t bytes);

  // Overwrites the first slice.
  absl::Status Write(const std::string& content);

 private:
  absl::Status Fill();

  OpenClSession session_;
  ElementType type_;
  bool is_input_;
  SliceRotation rotation_;
  size_t max_bytes_ = 0;  // Of one allocation; less rotation where it limits.
  uint64_t seed_;
  OpenClBuffer memory_;
  size_t size_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ROTATING_BUFFERS_H_
