// CudaCompiler: sources to cubins, through the cache on disk. Needs no GPU.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_COMPILER_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_COMPILER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_architecture.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/cuda/triton/triton_kernel.h"
#include "profiler_agent/measure/program_cache.h"

namespace wavetune {

// Machine code with a kernel function in it.
struct Cubin {
  std::string code;
  std::string entry;
  std::string key;  // The cache entry's.
  bool from_disk = false;
  // Where Triton made it: how it is launched, and why it is not worth
  // measuring; empty where it is.
  std::optional<TritonLaunch> triton;
  std::string unfit;
};

class CudaCompiler {
 public:
  // `directory` empty: nothing is kept.
  CudaCompiler(const Nvrtc& nvrtc, CudaArchitecture architecture,
               const std::string& directory);

  const CudaArchitecture& architecture() const { return architecture_; }

  // Returns the machine code of a source whose function `entry` is extern "C".
  // Entries depend on the compiler's version, the options and every file; not
  // on the driver, which runs any cubin for its device. Errors:
  // INVALID_ARGUMENT with the compiler's log, or when there is no such
  // function; as Nvrtc::Compile.
  absl::StatusOr<Cubin> Compile(const CudaSource& source,
                                const std::vector<std::string>& options,
                                const std::string& entry) const;

  // Removes an entry that the driver refused, so that it is compiled anew.
  void Forget(const Cubin& cubin) const { cache_.Remove(cubin.key); }

 private:
  const Nvrtc& nvrtc_;
  CudaArchitecture architecture_;
  ProgramCache cache_;
};

// Returns whether a cubin (an ELF file) has a kernel function of that name.
bool HasKernel(const std::string& cubin, const std::string& entry);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_COMPILER_H_
