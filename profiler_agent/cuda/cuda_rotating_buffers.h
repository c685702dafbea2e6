// CudaRotatingBuffers: the memory behind one buffer argument while measuring.
//
// One allocation, filled with random values once, serves every problem. What
// kernels write into is filled again for each measurement. A cold argument gets
// another slice for each launch, over a quarter more than the second-level
// cache: serving reads weights cold.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ROTATING_BUFFERS_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ROTATING_BUFFERS_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "model/kernel/device.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/measure/buffer_fill.h"
#include "profiler_agent/measure/slice_rotation.h"

namespace wavetune {

class CudaRotatingBuffers {
 public:
  // `seed` is of the random content.
  CudaRotatingBuffers(const CudaSession& session, const DeviceFacts& facts,
                      const Argument& argument, uint64_t seed);

  // Makes room for slices of `bytes` that hold what a measurement begins with:
  // random values, within `below` where there is one (BelowOf), or the zeros of
  // a workspace. Where the device has no room for all of the rotation, it
  // rotates over less. Errors: RESOURCE_EXHAUSTED where there is none for a
  // slice, as CudaRunStatus; the buffers are empty then.
  absl::Status Reserve(size_t bytes, std::optional<int64_t> below);

  // Returns the slice for the next launch: always the first one, or for a cold
  // argument the one after the last. `bytes` was reserved. Cannot fail.
  CUdeviceptr NextSlice(size_t bytes);

  // Overwrites the first slice.
  absl::Status Write(const std::string& content);

 private:
  // How large the allocation should be where so much is allowed; 0: no room.
  size_t WantedBytes(size_t bytes, size_t allowed) const;
  // Whether there is room by now for (much more of) the rotation.
  absl::StatusOr<bool> CanGrow(size_t bytes) const;
  absl::Status MakeRoom(size_t bytes);
  absl::Status WriteValues(absl::string_view pattern, size_t bytes);

  CudaSession session_;
  SliceRotation rotation_;
  BufferFill fill_;
  CudaMemory memory_;
  size_t size_ = 0;
  bool limited_ = false;  // Memory had no room for all of the rotation.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ROTATING_BUFFERS_H_
