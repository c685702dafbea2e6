// Which of a kernel's implementations a device runs, and what compiles it.
//
//   const DeviceImplementation own = ImplementationFor(spec, facts);
//   if (own.implementation == nullptr) return NoImplementation(spec, facts);
//   folder.Fingerprint(own.implementation->backend, own.compiler);
//
// Why one function: a backend is not yet an implementation. A CUDA device runs
// kernels for "cuda", compiled by NVRTC, and those for "triton", compiled by
// Triton; whoever fingerprints, plans, compiles or launches must mean the same.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_DEVICE_IMPLEMENTATION_H_
#define WAVETUNE_MODEL_KERNEL_DEVICE_IMPLEMENTATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/kernel/device.h"

namespace wavetune {

struct Implementation;
struct KernelSpec;

struct DeviceImplementation {
  const Implementation* implementation = nullptr;  // nullptr: it has none.
  std::string compiler;  // As fingerprints name it: "NVRTC 13.0".
};

// Returns the implementation for the device's backend; else another that its
// devices run and that it has the compiler of, as a CUDA device with Triton
// runs "triton". Points into `spec`. Cannot fail.
DeviceImplementation ImplementationFor(const KernelSpec& spec,
                                       const DeviceFacts& device);

// Returns whether the device would run the kernel if the compiler, Triton, were
// there: NoImplementation says how it is installed. Cannot fail.
bool LacksCompiler(const KernelSpec& spec, const DeviceFacts& device);

// Returns the facts of the device with another version of the compiler that
// `spec` has on it. Cannot fail.
DeviceFacts WithCompiler(const KernelSpec& spec, DeviceFacts device,
                         absl::string_view compiler);

// Returns why the device runs no implementation of the kernel, and what helps:
// FAILED_PRECONDITION. Where Triton is missing, how it is installed.
absl::Status NoImplementation(const KernelSpec& spec,
                              const DeviceFacts& device);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_DEVICE_IMPLEMENTATION_H_
