// Where arguments of checked launches lie on a CUDA device.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/measure/result_check.h"

namespace wavetune {

// Addresses by argument.
using CudaBuffers = std::map<size_t, CUdeviceptr>;

// Enqueues the work on buffers.
using LaunchOnBuffers = std::function<absl::Status(const CudaBuffers&)>;

class CudaCheckMemory : public CheckMemory {
 public:
  // `session` outlives it.
  explicit CudaCheckMemory(const CudaSession& session) : session_(session) {}

  absl::StatusOr<std::unique_ptr<CheckBuffer>> Allocate(
      const Argument& argument, size_t bytes) override;

 private:
  const CudaSession& session_;
};

// Returns `launch` on a CudaCheckMemory's buffers, and waits for it. `session`
// outlives it. Errors: of `launch`; as Finish.
CheckedLaunch OnCheckBuffers(const CudaSession& session,
                             LaunchOnBuffers launch);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_
