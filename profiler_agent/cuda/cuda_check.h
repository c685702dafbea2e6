// How the correctness check runs something on a CUDA device.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/result_check.h"

namespace wavetune {

// Addresses by argument.
using CudaBuffers = std::map<size_t, CUdeviceptr>;

// Enqueues the work on buffers.
using LaunchOnBuffers = std::function<absl::Status(const CudaBuffers&)>;

class CudaRun : public CheckedRun {
 public:
  CudaRun(const CudaSession& session, LaunchOnBuffers launch)
      : session_(session), launch_(std::move(launch)) {}

  absl::Status AddBuffer(size_t argument, const std::string& content) override;
  absl::Status Execute() override;
  absl::StatusOr<std::string> Content(size_t argument) override;

 private:
  const CudaSession& session_;
  const LaunchOnBuffers launch_;
  std::map<size_t, std::pair<CudaMemory, size_t>> memory_;  // And bytes.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_
