#include "profiler_agent/cuda/cuda_check.h"

#include "model/status_macros.h"
#include "profiler_agent/cuda/cuda_memory.h"

namespace wavetune {

absl::Status CudaRun::AddBuffer(size_t argument, const std::string& content) {
  ASSIGN_OR_RETURN(CudaMemory memory, AllocateWith(session_, content));
  memory_[argument] = {std::move(memory), content.size()};
  return absl::OkStatus();
}

absl::Status CudaRun::Execute() {
  CudaBuffers buffers;
  for (const auto& [argument, memory] : memory_) {
    buffers[argument] = memory.first.get();
  }
  RETURN_IF_ERROR(launch_(buffers));
  return Finish(session_);
}

absl::StatusOr<std::string> CudaRun::Content(size_t argument) {
  const auto& [memory, bytes] = memory_.at(argument);
  return CopyToHost(session_, memory.get(), bytes);
}

}  // namespace wavetune
