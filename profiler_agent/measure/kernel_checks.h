// Checks that every Device makes before it touches hardware, so that all
// backends refuse alike.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_KERNEL_CHECKS_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_KERNEL_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct DeviceFacts;
struct Implementation;
struct KernelSpec;
struct VendorBaseline;

// Returns the kernel's implementation for a device (ImplementationFor); points
// into `spec`. Errors: INVALID_ARGUMENT as NoImplementation.
absl::StatusOr<const Implementation*> FindImplementation(
    const KernelSpec& spec, const DeviceFacts& device);

// Returns a vendor baseline of an implementation; points into it. Errors:
// INVALID_ARGUMENT naming those it has.
absl::StatusOr<const VendorBaseline*> FindVendorBaseline(
    const Implementation& implementation, const std::string& library);

// Returns the error of a Prepare or Measure before Load.
absl::Status NoKernelLoaded();

// Errors: INVALID_ARGUMENT for a configuration outside the kernel's space.
absl::Status CheckConfiguration(const KernelSpec& spec,
                                const Configuration& configuration);

// Errors: as CheckConfiguration; OUT_OF_RANGE for a problem that the kernel, or
// this configuration, does not take (the candidate is not at fault), or for
// `launches` < 1.
absl::Status CheckLaunch(const KernelSpec& spec,
                         const Configuration& configuration,
                         const Problem& problem, int launches);

// Returns those of `problems` at which a candidate's results are checked: the
// legal ones. Errors, for a kernel with a reference: UNIMPLEMENTED where there
// are no problems, FAILED_PRECONDITION where none is legal.
absl::StatusOr<std::vector<Problem>> ProblemsToCheckAt(
    const KernelSpec& spec, const Configuration& configuration,
    const std::vector<Problem>& problems);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_KERNEL_CHECKS_H_
