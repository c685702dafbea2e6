// CudaProgram: a loaded kernel, compiled on demand. Needs no GPU; what a real
// device and a compile-only one have in common.
//
// Two compilers make its code: NVRTC of CUDA sources, Triton of a Python
// function. Triton's depends on the problem, too (triton_form.h): a program is
// named by configuration and form.
//
// Thread safety: Load by one thread, the rest is thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_PROGRAM_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_PROGRAM_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/cuda/triton/triton_compiler.h"
#include "profiler_agent/cuda/triton/triton_form.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

class CudaProgram {
 public:
  // For the device of `facts`; what Triton compiles is kept in `cache_dir`.
  // Compiler and facts outlive it.
  CudaProgram(const CudaCompiler& compiler, const DeviceFacts& facts,
              std::string cache_dir)
      : compiler_(compiler), facts_(facts), cache_dir_(std::move(cache_dir)) {}

  // Takes a kernel in place of the one before. Errors, and the one before
  // stays: INVALID_ARGUMENT where it has no implementation for the device or
  // its source was not sent; as TritonCompiler::Load.
  absl::Status Load(LoadedKernel kernel);

  bool loaded() const { return kernel_ != nullptr; }
  const KernelSpec& spec() const { return kernel_->spec; }
  const std::string& specialisation() const { return kernel_->specialisation; }
  const Implementation& implementation() const { return *implementation_; }

  // Returns which machine code a launch has: empty where all of a configuration
  // have the same. Cannot fail.
  TritonForm FormAt(const Configuration& configuration,
                    const Problem& problem) const;

  // A form that tables will be asked for: one of its problems, and the weight
  // of all of them.
  struct UsualForm {
    Problem problem;
    double weight = 0;
  };

  // Returns the forms at the kernel's representative problems that the
  // configuration may run at, or where there are none at the smallest problem.
  // At least one. Cannot fail.
  std::map<TritonForm, UsualForm> UsualForms(
      const Configuration& configuration) const;

  // Whether machine code depends on the form.
  bool has_forms() const { return triton_ != nullptr; }

  // Return machine code. Errors: FAILED_PRECONDITION where the manifest says
  // that the configuration is not meant for this device, or it wants more than
  // there is; as CudaCompiler::Compile and TritonCompiler::Compile.
  absl::StatusOr<Cubin> Compile(const Configuration& configuration,
                                const TritonForm& form) const;
  // Errors: UNIMPLEMENTED where there is none, or it is broken.
  absl::StatusOr<Cubin> CompileReference() const;

 private:
  absl::StatusOr<Cubin> CompileTriton(const Configuration& configuration,
                                      const TritonForm& form) const;

  const CudaCompiler& compiler_;
  const DeviceFacts& facts_;
  const std::string cache_dir_;
  std::unique_ptr<const LoadedKernel> kernel_;
  const Implementation* implementation_ = nullptr;  // In kernel_.
  std::unique_ptr<TritonCompiler> triton_;          // nullptr: NVRTC compiles.
};

// Returns a problem to look at a launch with where there is none to check at.
Problem SmallestProblem(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_PROGRAM_H_
