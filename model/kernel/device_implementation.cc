#include "model/kernel/device_implementation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Returns the implementation that the device runs if it has the compiler.
const Implementation* Wanted(const KernelSpec& spec,
                             const DeviceFacts& device) {
  const Implementation* const own = spec.ImplementationOf(device.backend);
  if (own != nullptr) return own;
  for (const Implementation& other : spec.implementations) {
    if (TraitsOf(other.backend).devices == device.backend) return &other;
  }
  return nullptr;
}

std::string DeviceFacts::*CompilerOf(const Implementation* wanted) {
  return wanted == nullptr ? &DeviceFacts::compiler
                           : TraitsOf(wanted->backend).compiler;
}

}  // namespace

DeviceImplementation ImplementationFor(const KernelSpec& spec,
                                       const DeviceFacts& device) {
  if (LacksCompiler(spec, device)) return {};
  const Implementation* const wanted = Wanted(spec, device);
  return {.implementation = wanted, .compiler = device.*CompilerOf(wanted)};
}

bool LacksCompiler(const KernelSpec& spec, const DeviceFacts& device) {
  const Implementation* const wanted = Wanted(spec, device);
  return wanted != nullptr && wanted->backend != device.backend &&
         (device.*CompilerOf(wanted)).empty();
}

DeviceFacts WithCompiler(const KernelSpec& spec, DeviceFacts device,
                         absl::string_view compiler) {
  device.*CompilerOf(Wanted(spec, device)) = std::string(compiler);
  return device;
}

absl::Status NoImplementation(const KernelSpec& spec,
                              const DeviceFacts& device) {
  if (LacksCompiler(spec, device)) {
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
