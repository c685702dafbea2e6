#include "model/kernel/device_implementation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/triton_options.h"

namespace wavetune {
namespace {

constexpr absl::string_view kCudaBackend = "cuda";

bool RunsTriton(const KernelSpec& spec, const DeviceFacts& device) {
  return device.backend == kCudaBackend &&
         spec.ImplementationOf(device.backend) == nullptr &&
         spec.ImplementationOf(kTritonBackend) != nullptr;
}

}  // namespace

DeviceImplementation ImplementationFor(const KernelSpec& spec,
                                       const DeviceFacts& device) {
  if (!RunsTriton(spec, device)) {
    return {.implementation = spec.ImplementationOf(device.backend),
            .compiler = device.compiler};
  }
  if (device.triton.empty()) return {};
  return {.implementation = spec.ImplementationOf(kTritonBackend),
          .compiler = device.triton};
}

DeviceFacts WithCompiler(const KernelSpec& spec, DeviceFacts device,
                         absl::string_view compiler) {
  (RunsTriton(spec, device) ? device.triton : device.compiler) =
      std::string(compiler);
  return device;
}

absl::Status NoImplementation(const KernelSpec& spec,
                              const DeviceFacts& device) {
  if (RunsTriton(spec, device)) {
    const std::string python =
        device.python.empty() ? "python3" : device.python;
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel \"", spec.name, "\" runs through Triton, which ", python,
        " of the agent with device ", device.uuid, " does not have: `", python,
        " -m pip install triton` and reload the agent, or give it another "
        "interpreter (wavetune-agent --python)"));
  }
  std::vector<std::string> backends;
  for (const Implementation& implementation : spec.implementations) {
    backends.push_back(implementation.backend);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel \"", spec.name, "\" has no implementation for backend \"",
      device.backend, "\" of device ", device.uuid,
      " (it has: ", absl::StrJoin(backends, ", "),
      "); add one to its manifest, or profile it on another device"));
}

}  // namespace wavetune
