// CudaBackend: NVIDIA GPUs, through NVRTC and the driver API.
//
// Driver and compiler are looked for at run time; where either is missing there
// are no devices, and the note says which. Limits: one-dimensional launches,
// one stream, two-dimensional tensor maps.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_BACKEND_H_

#include <memory>
#include <string>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

class CudaBackend : public Backend {
 public:
  // Construct before another thread starts. `memory_cap`: what a worker's
  // buffers may hold, as for CudaMemoryBudget; `python`: the interpreter that
  // compiles Triton kernels (FindTriton).
  CudaBackend(double memory_cap, std::string python);

  std::string name() const override { return "cuda"; }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;
  absl::StatusOr<DeviceState> ReadTelemetry(
      const std::string& device_uuid) override;

 private:
  double memory_cap_;
  std::string python_;
};

// One device that compiles for an architecture ("sm_90a") and launches nothing:
// it prepares candidates without a GPU. Its UUID is "compile-only:sm_90a".
class CudaCompileBackend : public Backend {
 public:
  // `python` as for CudaBackend.
  CudaCompileBackend(std::string architecture, std::string python);

  std::string name() const override { return "cuda"; }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;

 private:
  std::string architecture_;
  std::string python_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_BACKEND_H_
