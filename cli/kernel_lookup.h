// A kernel as the daemon knows it, by name.
#ifndef WAVETUNE_CLI_KERNEL_LOOKUP_H_
#define WAVETUNE_CLI_KERNEL_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/command_context.h"
#include "cli/daemon.h"
#include "model/kernel/kernel_spec.h"
#include "proto/wavetune/v1/status_service.pb.h"

namespace wavetune::cli {

struct KnownKernel {
  v1::KernelStatus status;
  KernelSpec spec;
};

// Errors: as StatusReader; NOT_FOUND listing the kernels there are;
// FAILED_PRECONDITION for one whose manifest is refused, with the faults.
absl::StatusOr<KnownKernel> FindKernel(StatusReader& status,
                                       const std::string& name);

// Returns the folder of a kernel: a folder as it is; anything else is a name
// that the daemon knows. Errors: as FindKernel.
absl::StatusOr<std::string> FindKernelFolder(const CommandContext& context,
                                             const std::string& kernel);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_KERNEL_LOOKUP_H_
