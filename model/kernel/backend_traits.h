// BackendTraits: what sets one backend's implementations apart, so that nobody
// else compares names of backends.
//
//   if (TraitsOf(implementation.backend).language == KernelLanguage::kTriton)
//
// Thread safety: pure function.
#ifndef WAVETUNE_MODEL_KERNEL_BACKEND_TRAITS_H_
#define WAVETUNE_MODEL_KERNEL_BACKEND_TRAITS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "model/kernel/device.h"

namespace wavetune {

enum class KernelLanguage {
  kC,          // CUDA C++ or OpenCL C.
  kTriton,     // Its compiler lays out blocks and shared memory by itself.
  kRecording,  // Nothing is compiled, launched or checked.
};

struct BackendTraits {
  absl::string_view name;
  // The backend whose devices run it.
  absl::string_view devices;
  KernelLanguage language = KernelLanguage::kC;
  // The fact of these devices that names the compiler.
  std::string DeviceFacts::*compiler = &DeviceFacts::compiler;
  // Clusters, persistent launches, tensor maps, vendor baselines.
  bool has_cuda_launches = false;
  bool has_device_predicates = false;
  bool runs_on_cpus = false;
  // What compiling a candidate of a small kernel takes of a core:
  // docs/manifest.md, "What profiling costs". 0: nothing is compiled.
  int64_t usual_compile_ms = 0;
  absl::string_view usual_compile_basis;
};

// Returns the traits of a backend; of one that is not known those of a plain
// one. Cannot fail.
const BackendTraits& TraitsOf(absl::string_view backend);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_BACKEND_TRAITS_H_
