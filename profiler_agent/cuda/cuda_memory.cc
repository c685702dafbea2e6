#include "profiler_agent/cuda/cuda_memory.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {

namespace {

struct MemoryInfo {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
};

absl::StatusOr<MemoryInfo> Ask(const CudaSession& session) {
  MemoryInfo info;
  RETURN_IF_ERROR(CudaRunStatus(
      session.driver->cuMemGetInfo(&info.free_bytes, &info.total_bytes),
      "asking for free memory"));
  return info;
}

}  // namespace

size_t CudaMemoryBudget::Allocatable(size_t free_bytes) const {
  const auto without_us = static_cast<double>(free_bytes + held_bytes_);
  const double cap = cap_ <= 1 ? cap_ * without_us : cap_ * (1 << 20);
  const double left = cap - static_cast<double>(held_bytes_);
  if (!(left > 0)) return 0;
  if (left >= static_cast<double>(free_bytes)) return free_bytes;
  return static_cast<size_t>(left);
}

CudaMemory::CudaMemory(CudaHandle<CUdeviceptr> memory, size_t bytes,
                       CudaMemoryBudget* budget)
    : memory_(std::move(memory)), bytes_(bytes), budget_(budget) {
  budget_->Take(bytes_);
}

CudaMemory::CudaMemory(CudaMemory&& other) noexcept
    : memory_(std::move(other.memory_)),
      bytes_(other.bytes_),
      budget_(std::exchange(other.budget_, nullptr)) {}

CudaMemory& CudaMemory::operator=(CudaMemory&& other) noexcept {
  CudaMemory taken(std::move(other));
  std::swap(memory_, taken.memory_);
  std::swap(bytes_, taken.bytes_);
  std::swap(budget_, taken.budget_);
  return *this;
}

CudaMemory::~CudaMemory() {
  if (budget_ != nullptr) budget_->GiveBack(bytes_);
}

absl::StatusOr<size_t> AllocatableNow(const CudaSession& session) {
  ASSIGN_OR_RETURN(const MemoryInfo info, Ask(session));
  return session.memory->Allocatable(info.free_bytes);
}

absl::Status TooLittleMemory(const CudaSession& session, size_t wanted_bytes) {
  ASSIGN_OR_RETURN(const MemoryInfo info, Ask(session));
  return absl::ResourceExhaustedError(absl::StrCat(
      "wants ", wanted_bytes >> 10, " KiB of device memory, ",
      session.memory->Allocatable(info.free_bytes) >> 10,
      " KiB are allowed: ", info.free_bytes >> 20, " of ",
      info.total_bytes >> 20, " MiB are free, and this worker holds ",
      session.memory->held_bytes() >> 20,
      ". Where another process holds the rest, stop it or wait for it; else "
      "start the agent with a larger --memory-cap"));
}

absl::StatusOr<CudaMemory> AllocateMemory(const CudaSession& session,
                                          size_t bytes) {
  ASSIGN_OR_RETURN(const size_t allowed, AllocatableNow(session));
  if (bytes > allowed) return TooLittleMemory(session, bytes);
  CUdeviceptr memory = 0;
  RETURN_IF_ERROR(CudaStatus(session.driver->cuMemAlloc(&memory, bytes),
                             absl::StrCat("allocating ", bytes, " bytes")));
  return CudaMemory(CudaHandle<CUdeviceptr>(memory, session.driver->cuMemFree),
                    bytes, session.memory);
}

absl::StatusOr<CudaMappedMemory> AllocateMapped(const CudaSession& session,
                                                size_t bytes) {
  void* memory = nullptr;
  RETURN_IF_ERROR(CudaStatus(
      session.driver->cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP),
      "allocating mapped memory"));
  std::memset(memory, 0, bytes);
  CudaMappedMemory mapped;
  mapped.host = CudaHandle<void*>(memory, session.driver->cuMemFreeHost);
  RETURN_IF_ERROR(CudaStatus(
      session.driver->cuMemHostGetDevicePointer(&mapped.device, memory, 0),
      "mapping memory"));
  return mapped;
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

absl::Status CopyOnDevice(const CudaSession& session, CUdeviceptr from,
                          CUdeviceptr to, size_t offset, size_t bytes) {
  return CudaRunStatus(session.driver->cuMemcpyDtoDAsync(to + offset, from,
                                                         bytes, session.stream),
                       "copying on the device");
}

absl::StatusOr<CUdeviceptr> SliceOf(const CudaSession& /*session*/,
                                    CUdeviceptr memory, size_t offset,
                                    size_t /*bytes*/) {
  return memory + offset;
}

absl::Status WriteZeros(const CudaSession& session, CUdeviceptr memory,
                        size_t bytes) {
  return CudaRunStatus(
      session.driver->cuMemsetD8Async(memory, 0, bytes, session.stream),
      "zeroing a workspace");
}

absl::Status Finish(const CudaSession& session) {
  return CudaRunStatus(session.driver->cuStreamSynchronize(session.stream),
                       "waiting for the device");
}

}  // namespace wavetune
