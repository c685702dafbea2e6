// Kernels and tables as people name them, found at the daemon.
#ifndef WAVETUNE_CLI_LOOKUP_H_
#define WAVETUNE_CLI_LOOKUP_H_

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

// Errors: as Daemon::Ask; NOT_FOUND listing the kernels there are;
// FAILED_PRECONDITION for one whose manifest is refused, with the faults.
absl::StatusOr<KnownKernel> FindKernel(Daemon& daemon, const std::string& name);

// Returns the folder of a kernel: a folder as it is; anything else is a name
// that the daemon knows. Errors: as FindKernel.
absl::StatusOr<std::string> FindKernelFolder(const CommandContext& context,
                                             const std::string& kernel);

struct TableQuestion {
  std::string table;        // Digest, first digits of a serving one, or kernel.
  std::string device;       // UUID, where several classes have tables.
  std::string fingerprint;  // Where several versions of the kernel serve.
};

// Returns the table with a payload that has its digest. Errors: as Daemon::Ask;
// FAILED_PRECONDITION for first digits of several; DATA_LOSS for a damaged
// payload.
absl::StatusOr<v1::GetTableResponse> FindTable(Daemon& daemon,
                                               const TableQuestion& question);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_LOOKUP_H_
