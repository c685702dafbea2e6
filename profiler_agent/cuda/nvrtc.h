// NVRTC, the run-time compiler, from libnvrtc.so at run time.
//
//   absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
//   absl::StatusOr<std::string> cubin = (*nvrtc)->Compile(
//       {.name = "gemm.cu", .files = files}, {"--gpu-architecture=sm_90a"});
//
// Why not linked: it comes with the toolkit, not with the driver, and an agent
// must start where it is missing and say so.
//
// Thread safety: thread-safe once loaded.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_NVRTC_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_NVRTC_H_

#include <nvrtc.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// A file to compile and what it may include.
struct CudaSource {
  std::string name;  // In `files`.
  std::map<std::string, std::string> files;
};

class Nvrtc {
 public:
  // Loads the library once a process. Errors: NOT_FOUND saying what to install.
  static absl::StatusOr<const Nvrtc*> Load();

  // The same from the first of `names` that opens, as often as called; for
  // tests.
  static absl::StatusOr<Nvrtc> LoadFrom(const std::vector<std::string>& names);

  // "NVRTC 13.0". Part of a kernel's fingerprint.
  const std::string& version() const { return version_; }
  // Compute capabilities, times ten, that it compiles for.
  const std::vector<int>& capabilities() const { return capabilities_; }

  // Where the headers of its toolkit are; empty where they are not installed.
  const std::string& headers() const { return headers_; }
  // The same as if they were not; for tests.
  Nvrtc WithoutHeaders() const {
    Nvrtc other = *this;
    other.headers_.clear();
    return other;
  }

  // Adds options and files that each compilation gets: INFINITY and NAN where
  // no file makes the name itself, and the folders of the toolkit's headers.
  // Where these are not installed, and no option names a folder, it adds our
  // own cuda_bf16.h and cuda_fp16.h, which have the types and their
  // conversions. A program depends on these and on version() alone. Cannot
  // fail.
  void Complete(CudaSource* source, std::vector<std::string>* options) const;

  // Returns the machine code. `#include "other"` finds the other files, then
  // what `#include <other>` finds: the folders of options and the toolkit's
  // headers. What a kernel's folder should have had is refused before
  // (source_includes.h). Errors: INVALID_ARGUMENT with the log's useful lines,
  // also when the source is missing; RESOURCE_EXHAUSTED; INTERNAL.
  absl::StatusOr<std::string> Compile(
      const CudaSource& source, const std::vector<std::string>& options) const;

 private:
#define WAVETUNE_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                   \
  X(nvrtcGetErrorString)            \
  X(nvrtcGetNumSupportedArchs)      \
  X(nvrtcGetSupportedArchs)         \
  X(nvrtcCreateProgram)             \
  X(nvrtcDestroyProgram)            \
  X(nvrtcCompileProgram)            \
  X(nvrtcGetProgramLogSize)         \
  X(nvrtcGetProgramLog)             \
  X(nvrtcGetCUBINSize)              \
  X(nvrtcGetCUBIN)
#define WAVETUNE_NVRTC_MEMBER(name) decltype(&::name) name = nullptr;
  struct Functions {
    WAVETUNE_NVRTC_FUNCTIONS(WAVETUNE_NVRTC_MEMBER)
  };
#undef WAVETUNE_NVRTC_MEMBER

  absl::Status Check(nvrtcResult code, absl::string_view what) const;
  std::string Log(nvrtcProgram program) const;
  absl::StatusOr<std::string> CompileProgram(
      nvrtcProgram program, const std::vector<std::string>& all,
      const std::vector<std::string>& options) const;

  Functions nvrtc_;
  std::string version_;
  std::string headers_;
  std::vector<int> capabilities_;
};

// Returns the lines of a compiler's log that say why it failed: each error with
// its excerpt, without warnings and chains of includes. It is the whole log
// where no line says "error". At most about 4000 bytes. Pure; exposed for
// tests.
std::string UsefulLines(absl::string_view log);

// Returns such lines, and what to do where they say that a header is missing.
// Pure; exposed for tests.
std::string WithAdvice(std::string log);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_NVRTC_H_
