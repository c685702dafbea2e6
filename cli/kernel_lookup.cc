#include "cli/kernel_lookup.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "formats/kernel_spec.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {

absl::StatusOr<KnownKernel> FindKernel(StatusReader& status,
                                       const std::string& name) {
  ASSIGN_OR_RETURN(v1::ListKernelsResponse response, status.ListKernels());
  std::vector<std::string> names;
  for (const v1::KernelStatus& kernel : response.kernels()) {
    names.push_back(kernel.spec().name());
    if (kernel.spec().name() != name) continue;
    if (!kernel.problem().empty())
      return absl::FailedPreconditionError(
          absl::StrCat("kernel \"", name, "\" in ", kernel.path(),
                       " is refused:\n", kernel.problem()));
    ASSIGN_OR_RETURN(KernelSpec spec, KernelSpecFromProto(kernel.spec()));
    return KnownKernel{.status = kernel, .spec = std::move(spec)};
  }
  return absl::NotFoundError(
      absl::StrCat("the daemon has no kernel \"", name, "\"; it has: ",
                   names.empty() ? "none (see wavetuned --kernels-dir)"
                                 : absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::string> FindKernelFolder(const CommandContext& context,
                                             const std::string& kernel) {
  std::error_code error;
  if (std::filesystem::is_directory(kernel, error) ||
      kernel.find('/') != std::string::npos)
    return kernel;
  ASSIGN_OR_RETURN(DaemonConnection daemon, context.Connect());
  ASSIGN_OR_RETURN(KnownKernel known, FindKernel(*daemon.status, kernel));
  return known.status.path();
}

}  // namespace wavetune::cli
