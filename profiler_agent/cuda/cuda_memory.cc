#include "profiler_agent/cuda/cuda_memory.h"

#include "absl/strings/str_cat.h"
#include "model/status_macros.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {

size_t AllocatableBytes(size_t free_bytes) { return free_bytes / 2; }

absl::StatusOr<size_t> AllocatableNow(const CudaSession& session) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  RETURN_IF_ERROR(
      CudaRunStatus(session.driver->cuMemGetInfo(&free_bytes, &total_bytes),
                    "asking for free memory"));
  return AllocatableBytes(free_bytes);
}

absl::StatusOr<CudaMemory> AllocateMemory(const CudaSession& session,
                                          size_t bytes) {
  ASSIGN_OR_RETURN(const size_t allowed, AllocatableNow(session));
  if (bytes > allowed) {
    return absl::ResourceExhaustedError(
        absl::StrCat("wants ", bytes, " bytes of device memory; ", allowed,
                     " are allowed, half of what is free"));
  }
  CUdeviceptr memory = 0;
  RETURN_IF_ERROR(CudaStatus(session.driver->cuMemAlloc(&memory, bytes),
                             absl::StrCat("allocating ", bytes, " bytes")));
  return CudaMemory(memory, session.driver->cuMemFree);
}

absl::StatusOr<CudaMemory> AllocateWith(const CudaSession& session,
                                        absl::string_view content) {
  ASSIGN_OR_RETURN(CudaMemory memory, AllocateMemory(session, content.size()));
  RETURN_IF_ERROR(CopyToDevice(session, memory.get(), content));
  return memory;
}

absl::Status CopyToDevice(const CudaSession& session, CUdeviceptr to,
                          absl::string_view content) {
  RETURN_IF_ERROR(
      CudaRunStatus(session.driver->cuMemcpyHtoDAsync(
                        to, content.data(), content.size(), session.stream),
                    "writing a buffer"));
  return Finish(session);
}

absl::StatusOr<std::string> CopyToHost(const CudaSession& session,
                                       CUdeviceptr from, size_t bytes) {
  std::string content(bytes, '\0');
  RETURN_IF_ERROR(
      CudaRunStatus(session.driver->cuMemcpyDtoHAsync(
                        content.data(), from, content.size(), session.stream),
                    "reading a buffer"));
  RETURN_IF_ERROR(Finish(session));
  return content;
}

absl::Status Finish(const CudaSession& session) {
  return CudaRunStatus(session.driver->cuStreamSynchronize(session.stream),
                       "waiting for the device");
}

}  // namespace wavetune
