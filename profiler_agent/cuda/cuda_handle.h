// Owning handles of CUDA objects, and what all of a device's parts share.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_HANDLE_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_HANDLE_H_

#include <cuda.h>

#include <utility>

#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_driver.h"

namespace wavetune {

class CudaMemory;
class CudaMemoryBudget;

// The device's primary context is current in the one thread that uses this. It
// and the stream outlive whatever holds a copy.
struct CudaSession {
  using Memory = CudaMemory;
  using Slice = CUdeviceptr;
  // Outputs are poisoned before every launch of a check, which over the bus
  // would take longer than the launch.
  static constexpr bool kRestoresOnDevice = true;
  static constexpr bool kTellsWhatIsFree = true;

  const CudaDriver* driver = nullptr;
  CUdevice device = 0;
  // The one stream that all work goes through, copies included: in order, and
  // without the implicit synchronisation of the default stream.
  CUstream stream = nullptr;
  int multiprocessors = 1;
  // What all buffers together may hold (cuda_memory.h); outlives them.
  CudaMemoryBudget* memory = nullptr;
};

// Releases its object at the end. Movable. The driver comes at run time, so the
// function that releases is a member, not a template argument as for OpenCL.
template <typename T>
class CudaHandle {
 public:
  using Release = CUresult (*)(T);

  CudaHandle() = default;
  CudaHandle(T object, Release release) : object_(object), release_(release) {}
  CudaHandle(CudaHandle&& other) noexcept
      : object_(std::exchange(other.object_, T{})), release_(other.release_) {}
  CudaHandle& operator=(CudaHandle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~CudaHandle() {
    if (object_ != T{}) release_(object_);
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != T{}; }

 private:
  T object_{};
  Release release_ = nullptr;
};

// Keeps the device's primary context, current in the calling thread. Why the
// primary one: a process has one anyway, and profilers know it.
class CudaContext {
 public:
  // Errors: as CudaStatus.
  static absl::StatusOr<CudaContext> Retain(const CudaDriver& driver,
                                            CUdevice device);
  CudaContext(CudaContext&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        device_(other.device_) {}
  CudaContext& operator=(CudaContext&&) = delete;
  ~CudaContext();

 private:
  CudaContext(const CudaDriver& driver, CUdevice device)
      : driver_(&driver), device_(device) {}

  const CudaDriver* driver_;
  CUdevice device_;
};

using CudaStream = CudaHandle<CUstream>;
using CudaEvent = CudaHandle<CUevent>;
using CudaModuleHandle = CudaHandle<CUmodule>;

// Creates the stream of a session. Errors: as CudaStatus.
absl::StatusOr<CudaStream> CreateStream(const CudaDriver& driver);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_HANDLE_H_
