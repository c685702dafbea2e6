#include "model/kernel/backend_traits.h"

#include <algorithm>

#include "model/kernel/kernel_validation.h"

namespace wavetune {
namespace {

// A new backend is one entry here.
constexpr BackendTraits kBackends[] = {
    {.name = "opencl",
     .devices = "opencl",
     .runs_on_cpus = true,
     .usual_compile_ms = kUsualCompileMs,
     .usual_compile_basis = "as small kernels take with PoCL"},
    {.name = "cuda",
     .devices = "cuda",
     .has_cuda_launches = true,
     .has_device_predicates = true,
     .usual_compile_ms = 200,
     .usual_compile_basis = "as sources without headers take with NVRTC; "
                            "templates take ten times as long"},
    {.name = "triton",
     .devices = "cuda",
     .language = KernelLanguage::kTriton,
     .compiler = &DeviceFacts::triton,
     .has_cuda_launches = true,
     .has_device_predicates = true,
     .usual_compile_ms = 1000,
     .usual_compile_basis = "as a GEMM takes with Triton in four forms"},
    {.name = "replay",
     .devices = "replay",
     .language = KernelLanguage::kRecording,
     .has_device_predicates = true},
};

}  // namespace

const BackendTraits& TraitsOf(absl::string_view backend) {
  static constexpr BackendTraits kPlain;
  const auto* const found =
      std::find_if(std::begin(kBackends), std::end(kBackends),
                   [&](const BackendTraits& b) { return b.name == backend; });
  return found == std::end(kBackends) ? kPlain : *found;
}

}  // namespace wavetune
