// Device memory: allocated within a share, copied on the session's stream.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_MEMORY_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_MEMORY_H_

#include <cuda.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_agent/cuda/cuda_handle.h"

namespace wavetune {

// Returns how many bytes may still be allocated of `free_bytes`: half. What is
// left is for other workers of this device and for whoever serves on it. Pure.
size_t AllocatableBytes(size_t free_bytes);

// Returns AllocatableBytes of what is free now. Errors: as CudaStatus.
absl::StatusOr<size_t> AllocatableNow(const CudaSession& session);

// Errors: RESOURCE_EXHAUSTED, also beyond AllocatableNow; as CudaStatus.
absl::StatusOr<CudaMemory> AllocateMemory(const CudaSession& session,
                                          size_t bytes);

// Allocates and fills with `content`. Errors: as AllocateMemory.
absl::StatusOr<CudaMemory> AllocateWith(const CudaSession& session,
                                        absl::string_view content);

// Copy, and return when it is done. Errors: as CudaRunStatus.
absl::Status CopyToDevice(const CudaSession& session, CUdeviceptr to,
                          absl::string_view content);
absl::StatusOr<std::string> CopyToHost(const CudaSession& session,
                                       CUdeviceptr from, size_t bytes);

// Waits for everything that was enqueued. Errors: as CudaRunStatus, as a kernel
// may have failed while it ran.
absl::Status Finish(const CudaSession& session);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_MEMORY_H_
