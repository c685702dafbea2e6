// TritonCompiler: configurations of one Triton kernel to machine code, through
// the cache on disk. Needs no GPU.
//
//   auto compiler = TritonCompiler::Load(options, kernel, implementation);
//   (*compiler)->Compile(configuration, (*compiler)->FormAt(configuration, p));
//
// A Python process does it (triton_process.h). One that crashes or hangs fails
// its candidate, and is started anew for the next.
//
// Thread safety: thread-safe; compiles one at a time.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_COMPILER_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_COMPILER_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "profiler_agent/cuda/triton/triton_form.h"
#include "profiler_agent/cuda/triton/triton_kernel.h"
#include "profiler_agent/measure/program_cache.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Implementation;
struct LoadedKernel;
class TritonProcess;

struct TritonCompilerOptions {
  std::string python = "python3";
  std::string name;  // TritonCompilerName, as it was when devices were listed.
  int capability = 0;     // Compute capability times ten.
  std::string cache_dir;  // Empty: nothing is kept.
  // Below what a worker has to load a kernel, and to prepare a candidate.
  std::chrono::milliseconds load_timeout{25'000};
  std::chrono::milliseconds compile_timeout{90'000};
};

class TritonCompiler {
 public:
  // Imports the kernel's function, or takes what it was from the cache and
  // imports it when something must be compiled. `kernel` outlives it, and has
  // `implementation`. Errors, none of them a candidate's: UNIMPLEMENTED where
  // it cannot be imported, its arguments are not the manifest's, or importing
  // crashes or hangs. UNAVAILABLE where the interpreter cannot be started or
  // Triton is another one now. RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<TritonCompiler>> Load(
      const TritonCompilerOptions& options, const LoadedKernel& kernel,
      const Implementation& implementation);

  ~TritonCompiler();

  // Returns the form of a launch. Cannot fail.
  TritonForm FormAt(const Configuration& configuration,
                    const Problem& problem) const;

  // Returns the machine code for launches of a form. Errors: INVALID_ARGUMENT
  // with Triton's message, also where it crashes or hangs. RESOURCE_EXHAUSTED
  // where somebody else kills it, or something runs out. As Load where the
  // process had to be started anew and could not.
  absl::StatusOr<TritonKernel> Compile(const Configuration& configuration,
                                       const TritonForm& form);

 private:
  TritonCompiler(TritonCompilerOptions options, const LoadedKernel& kernel,
                 const Implementation& implementation);

  // Starts the process, lets it import the function and returns what it says of
  // it. Holds mutex_.
  absl::StatusOr<nlohmann::ordered_json> Start();
  std::optional<nlohmann::ordered_json> FindKept(const std::string& key) const;
  void Keep(const std::string& key, const nlohmann::ordered_json& answer) const;
  // Takes what the function is; at the manifest's types.
  absl::Status TakeDescription(const nlohmann::ordered_json& described);
  nlohmann::ordered_json RequestFor(const Configuration& configuration,
                                    const TritonForm& form) const;
  std::string KeyOf(const nlohmann::ordered_json& request) const;
  absl::StatusOr<nlohmann::ordered_json> CompileAnew(
      const nlohmann::ordered_json& request);

  const TritonCompilerOptions options_;
  const LoadedKernel& kernel_;
  const std::vector<TensorMap> maps_;
  const std::string source_;           // The first one's name.
  const nlohmann::ordered_json load_;  // The request that imports the function.
  const ProgramCache cache_;
  std::mutex mutex_;
  std::unique_ptr<TritonProcess> process_;  // Guarded by mutex_.
  std::vector<TritonArgument> arguments_;   // By the manifest's.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_COMPILER_H_
