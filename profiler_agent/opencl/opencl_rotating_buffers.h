// OpenClRotatingBuffers: the memory behind one buffer argument while measuring.
//
// One allocation, filled with random values once, serves every problem: a
// sample would otherwise spend more time on filling buffers than on launches.
// What kernels write into is filled again for each measurement. A cold argument
// gets another slice for each launch (serving reads weights cold). The slices
// are over more than the last-level cache, or on a CPU whose cache is too large
// for that, over more than the cores' own caches.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ROTATING_BUFFERS_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ROTATING_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "model/kernel/device.h"
#include "profiler_agent/measure/buffer_fill.h"
#include "profiler_agent/measure/slice_rotation.h"
#include "profiler_agent/opencl/opencl_handle.h"

namespace wavetune {

class OpenClRotatingBuffers {
 public:
  // `seed` is of the random content.
  OpenClRotatingBuffers(const OpenClSession& session, const DeviceFacts& facts,
                        const Argument& argument, uint64_t seed);

  // Makes room for slices of `bytes` that hold what a measurement begins with:
  // random values, within `below` where there is one (BelowOf), or the zeros of
  // a workspace. Errors: RESOURCE_EXHAUSTED; the buffers are empty then.
  absl::Status Reserve(size_t bytes, std::optional<int64_t> below);

  // Returns the slice for the next launch: always the first one, or for a cold
  // argument the one after the last. `bytes` was reserved. Errors: as
  // OpenClStatus.
  absl::StatusOr<OpenClBuffer> NextSlice(size_t bytes);

  // Overwrites the first slice.
  absl::Status Write(const std::string& content);

 private:
  absl::Status MakeRoom(size_t bytes);
  absl::Status WriteZeros(size_t bytes);
  absl::Status WriteValues(absl::string_view pattern, size_t bytes);

  OpenClSession session_;
  SliceRotation rotation_;
  size_t max_bytes_ = 0;  // One allocation's; less rotation at its limit.
  size_t element_bytes_;
  BufferFill fill_;
  OpenClBuffer memory_;
  size_t size_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_ROTATING_BUFFERS_H_
