// What of a kernel's space a device gets, and with which default it starts.
//
//   ASSIGN_OR_RETURN(KernelSpec own, SpecForDevice(spec, facts));
//   EnumerateConfigurations(own);  // Without what is not meant for the device.
//   own.default_configuration;     // Runs on the device.
//
// Why: a manifest may hold configurations for some devices only
// (Implementation::device_predicates), and its default may be one of them. All
// of this follows from manifest and device facts, never from measurements, so
// that every rank sees the same.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_DEVICE_SPACE_H_
#define WAVETUNE_MODEL_KERNEL_DEVICE_SPACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Returns whether the device predicates of the implementation for the device
// (model/kernel/device_implementation.h) hold. True without predicates, or
// without such an implementation. `spec` is valid, `configuration` in its
// space.
bool IsMeantFor(const KernelSpec& spec, const Configuration& configuration,
                const DeviceFacts& device);

// Returns OK where each launch of the configuration keeps the limits that the
// device states. These are work items of a block, and dynamic shared memory
// where that follows from the configuration alone. `spec` as the specialisation
// has it, `configuration` in its space. Errors: INVALID_ARGUMENT with the value
// that is too large.
absl::Status CheckLimits(const KernelSpec& spec,
                         const std::string& specialisation,
                         const Configuration& configuration,
                         const DeviceFacts& device);

// Returns the kernel as `device` tunes it: the device's predicates, with its
// facts put in, are further constraints. The default is the manifest's if it is
// meant for the device. Else it is the first configuration in the space's order
// that is, and is legal for every problem. Without predicates the spec as it
// is. `spec` is valid.
//
// Errors: FAILED_PRECONDITION where no configuration that is legal for every
// problem is meant for the device.
// Cost: enumerates the space where the manifest's default is not meant for the
// device.
absl::StatusOr<KernelSpec> SpecForDevice(const KernelSpec& spec,
                                         const DeviceFacts& device);

// Returns how many configurations of the space are not meant for `device`.
// Cost: enumerates the space if there are device predicates.
int64_t CountNotMeantFor(const KernelSpec& spec, const DeviceFacts& device);

// Returns the default on all of `devices`; those that the kernel has nothing
// for do not count. Without any: the manifest's. Errors: FAILED_PRECONDITION as
// SpecForDevice where all devices with an implementation fail, or where
// defaults differ. Cost: SpecForDevice once per architecture.
absl::StatusOr<Configuration> DefaultForDevices(
    const KernelSpec& spec, absl::Span<const DeviceFacts> devices);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_DEVICE_SPACE_H_
