// CudaProgram: a loaded kernel, compiled on demand. Needs no GPU; what a real
// device and a compile-only one have in common.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_PROGRAM_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_PROGRAM_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

class CudaProgram {
 public:
  // For the device of `facts`. Both outlive it.
  CudaProgram(const CudaCompiler& compiler, const DeviceFacts& facts)
      : compiler_(compiler), facts_(facts) {}

  // Takes a kernel in place of the one before. Errors, and the one before
  // stays: INVALID_ARGUMENT where it has no CUDA implementation or its source
  // was not sent.
  absl::Status Load(LoadedKernel kernel);

  bool loaded() const { return kernel_.has_value(); }
  const KernelSpec& spec() const { return kernel_->spec; }
  const std::string& specialisation() const { return kernel_->specialisation; }
  const Implementation& implementation() const { return *implementation_; }

  // Return machine code. Errors: FAILED_PRECONDITION where the manifest says
  // that the configuration is not meant for this device; as
  // CudaCompiler::Compile.
  absl::StatusOr<Cubin> Compile(const Configuration& configuration) const;
  // Errors: UNIMPLEMENTED where there is none, or it is broken.
  absl::StatusOr<Cubin> CompileReference() const;

 private:
  const CudaCompiler& compiler_;
  const DeviceFacts& facts_;
  std::optional<LoadedKernel> kernel_;
  const Implementation* implementation_ = nullptr;  // In kernel_.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_PROGRAM_H_
