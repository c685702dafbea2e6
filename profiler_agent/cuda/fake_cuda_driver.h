// FakeCudaDriver: a CUDA driver with one GPU whose kernels are host functions.
//
//   FakeCudaDriver fake;
//   fake.AddKernel("copy", [](const FakeLaunch& launch) { ...; });
//   CudaDevice::Open(fake.driver(), ...);
//
// Behaves: memory is host memory, work runs when it is enqueued, and a launch
// takes 10 us of the device's clock. A launch that fails makes every later call
// fail, as a real one does. Machine code is not looked at but for its entry.
//
// Thread safety: one thread. The functions have no object to belong to: they
// are of the youngest that lives.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_FAKE_CUDA_DRIVER_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_FAKE_CUDA_DRIVER_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "profiler_agent/cuda/cuda_driver.h"

namespace wavetune {

// A launch as its kernel sees it.
struct FakeLaunch {
  int64_t blocks = 1;  // In all.
  int64_t block_size = 1;
  void** parameters = nullptr;

  // The value of parameter number `index`.
  template <typename T>
  T Get(int index) const {
    return *static_cast<T*>(parameters[index]);
  }
};

// Returns CUDA_SUCCESS, or what the launch fails with while it runs.
using FakeKernel = std::function<CUresult(const FakeLaunch& launch)>;

class FakeCudaDriver {
 public:
  FakeCudaDriver();
  ~FakeCudaDriver();
  FakeCudaDriver(const FakeCudaDriver&) = delete;
  FakeCudaDriver& operator=(const FakeCudaDriver&) = delete;

  const CudaDriver& driver() const { return driver_; }

  void AddKernel(const std::string& entry, FakeKernel kernel);

  // Memory that nobody holds, at most 1 GiB.
  size_t free_bytes() const {
    return kTotalBytes - allocated_bytes_ - held_by_others_;
  }
  // Another process holds so much.
  void HoldByOthers(size_t bytes) { held_by_others_ = bytes; }
  // What opening a device fails with.
  void FailToOpen(CUresult code) { open_result_ = code; }
  // So many GPUs, of which number `index` does not answer (-1: all do).
  void SetDevices(int count, int silent_index) {
    devices_ = count;
    silent_device_ = silent_index;
  }
  // The next so many modules are refused as made for another GPU.
  void RefuseModules(int count) { refused_modules_ = count; }
  // Groups of the last launch of a kernel that is not the timer's own.
  int64_t last_blocks() const { return last_blocks_; }
  // Launches of such kernels.
  int launches() const { return launches_; }

  static constexpr size_t kTotalBytes = size_t{1} << 30;
  static constexpr int kMultiprocessors = 4;
  static constexpr int kGroupsPerMultiprocessor = 2;

 private:
  void BindDevice();
  void BindMemory();
  void BindModules();
  void BindStream();

  CUresult Launch(const CUlaunchConfig& config, const std::string& entry,
                  void** parameters);

  FakeCudaDriver* previous_;
  CudaDriver driver_;
  std::map<std::string, FakeKernel> kernels_;  // By entry; nodes stay.
  std::map<CUdeviceptr, size_t> allocations_;
  size_t allocated_bytes_ = 0;
  size_t held_by_others_ = 0;
  CUresult open_result_ = CUDA_SUCCESS;
  int devices_ = 1;
  int silent_device_ = -1;
  int refused_modules_ = 0;
  double clock_us_ = 1;
  std::map<CUevent, double> events_;
  CUresult fault_ = CUDA_SUCCESS;
  int64_t last_blocks_ = 0;
  int launches_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_FAKE_CUDA_DRIVER_H_
