// CudaCompileDevice: a Device that compiles and launches nothing, for machines
// without a GPU.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_COMPILE_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_COMPILE_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/cuda/cuda_program.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

class CudaCompileDevice : public Device {
 public:
  // `architecture` as ParseCudaArchitecture takes it; `python` as FindTriton.
  // Errors: INVALID_ARGUMENT;
  // UNAVAILABLE where NVRTC is missing or does not know the architecture.
  static absl::StatusOr<std::unique_ptr<CudaCompileDevice>> Open(
      const std::string& architecture, const std::string& cache_dir,
      const std::string& python);

  const DeviceFacts& facts() const override { return facts_; }
  absl::Status Load(LoadedKernel kernel) override;

  // Compiles the candidate, and the reference if there is one; compares
  // nothing, and knows nothing of residency.
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;

  // Returns the machine code of a candidate of the loaded kernel. Errors: as
  // CudaProgram::Compile. May be called from several threads at once.
  absl::StatusOr<Cubin> Compile(const Configuration& configuration) const;

  // FAILED_PRECONDITION, always.
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;

 private:
  CudaCompileDevice(DeviceFacts facts, const CudaCompiler& compiler,
                    const std::string& cache_dir);
  // Compiles what tables will be asked for, and refuses what does not fit.
  absl::Status CheckFit(const Configuration& configuration) const;

  DeviceFacts facts_;
  CudaCompiler compiler_;
  CudaProgram program_;
  bool reference_compiles_ = false;  // Found out once a kernel.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_COMPILE_DEVICE_H_
