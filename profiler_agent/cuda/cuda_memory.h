// Device memory: allocated within a cap, copied on the session's stream
// (DriverMemory of measure/measured_buffers.h).
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_MEMORY_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_MEMORY_H_

#include <cuda.h>

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_agent/cuda/cuda_handle.h"

namespace wavetune {

// Half: the rest is for other workers of this device and for whoever serves on
// it.
inline constexpr double kDefaultMemoryCap = 0.5;

// What a session may hold, with what it does.
class CudaMemoryBudget {
 public:
  // `cap` up to 1: this part of the memory that would be free without us; above
  // 1: so many MiB.
  explicit CudaMemoryBudget(double cap) : cap_(cap) {}

  // Returns how many bytes more may be allocated while `free_bytes` are free.
  // Cannot fail.
  size_t Allocatable(size_t free_bytes) const;

  size_t held_bytes() const { return held_bytes_; }
  void Take(size_t bytes) { held_bytes_ += bytes; }
  void GiveBack(size_t bytes) { held_bytes_ -= bytes; }

 private:
  double cap_;
  size_t held_bytes_ = 0;
};

// An allocation that counts in its session's budget. Movable.
class CudaMemory {
 public:
  CudaMemory() = default;
  CudaMemory(CudaHandle<CUdeviceptr> memory, size_t bytes,
             CudaMemoryBudget* budget);
  CudaMemory(CudaMemory&& other) noexcept;
  CudaMemory& operator=(CudaMemory&& other) noexcept;
  ~CudaMemory();

  CUdeviceptr get() const { return memory_.get(); }
  explicit operator bool() const { return static_cast<bool>(memory_); }

 private:
  CudaHandle<CUdeviceptr> memory_;
  size_t bytes_ = 0;
  CudaMemoryBudget* budget_ = nullptr;
};

// Addresses by argument.
using CudaBuffers = std::map<size_t, CUdeviceptr>;

// Returns what the session may allocate now. Errors: as CudaRunStatus.
absl::StatusOr<size_t> AllocatableNow(const CudaSession& session);

// Returns RESOURCE_EXHAUSTED with the wanted, free and held bytes, and with
// what to do.
absl::Status TooLittleMemory(const CudaSession& session, size_t wanted_bytes);

// Errors: RESOURCE_EXHAUSTED, also beyond AllocatableNow; as CudaStatus.
absl::StatusOr<CudaMemory> AllocateMemory(const CudaSession& session,
                                          size_t bytes);

// Host memory that the device sees, too; kernels write it over the bus.
struct CudaMappedMemory {
  CudaHandle<void*> host;
  CUdeviceptr device = 0;
};

// Allocates, all zero. Errors: as CudaStatus.
absl::StatusOr<CudaMappedMemory> AllocateMapped(const CudaSession& session,
                                                size_t bytes);

// Copy, and return when it is done. Errors: as CudaRunStatus.
absl::Status CopyToDevice(const CudaSession& session, CUdeviceptr to,
                          absl::string_view content);
absl::StatusOr<std::string> CopyToHost(const CudaSession& session,
                                       CUdeviceptr from, size_t bytes);

// Enqueue. Errors: as CudaRunStatus.
absl::Status CopyOnDevice(const CudaSession& session, CUdeviceptr from,
                          CUdeviceptr to, size_t offset, size_t bytes);
absl::Status WriteZeros(const CudaSession& session, CUdeviceptr memory,
                        size_t bytes);

// Cannot fail.
absl::StatusOr<CUdeviceptr> SliceOf(const CudaSession& session,
                                    CUdeviceptr memory, size_t offset,
                                    size_t bytes);

// Waits for everything that was enqueued. Errors: as CudaRunStatus, as a kernel
// may have failed while it ran.
absl::Status Finish(const CudaSession& session);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_MEMORY_H_
