#include "profiler_agent/measure/kernel_checks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {

absl::StatusOr<const Implementation*> FindImplementation(
    const KernelSpec& spec, const DeviceFacts& device) {
  const Implementation* const implementation =
      ImplementationFor(spec, device).implementation;
  if (implementation != nullptr) return implementation;
  return absl::InvalidArgumentError(NoImplementation(spec, device).message());
}

absl::StatusOr<const VendorBaseline*> FindVendorBaseline(
    const Implementation& implementation, const std::string& library) {
  std::vector<std::string> known;
  for (const VendorBaseline& baseline : implementation.vendor_baselines) {
    if (baseline.library == library) return &baseline;
    known.push_back(baseline.library);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the manifest names no vendor baseline '", library, "' for the backend '",
      implementation.backend,
      "'; it has: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

absl::Status NoKernelLoaded() {
  return absl::FailedPreconditionError(
      "no kernel is loaded; a load must come before prepare and measure");
}

absl::Status CheckConfiguration(const KernelSpec& spec,
                                const Configuration& configuration) {
  if (InSpace(spec, configuration)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "configuration [", absl::StrJoin(configuration.values(), ", "),
      "] is outside the space of kernel ", spec.name));
}

absl::Status CheckLaunch(const KernelSpec& spec,
                         const Configuration& configuration,
                         const Problem& problem, int launches) {
  RETURN_IF_ERROR(CheckConfiguration(spec, configuration));
  if (launches < 1) {
    return absl::OutOfRangeError(
        absl::StrCat("asked for ", launches, " launches; ask for at least 1"));
  }
  if (absl::Status status = CheckProblem(spec, problem); !status.ok()) {
    return absl::OutOfRangeError(status.message());
  }
  if (!IsLegal(spec, configuration, problem.View())) {
    return absl::OutOfRangeError(absl::StrCat(
        "problem ", FormatProblem(spec, problem), " is not legal for ",
        FormatConfiguration(spec, configuration),
        " (a problem predicate excludes it)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Problem>> ProblemsToCheckAt(
    const KernelSpec& spec, const Configuration& configuration,
    const std::vector<Problem>& problems) {
  const bool must_check = spec.correctness.has_value();
  if (must_check && problems.empty()) {
    return absl::UnimplementedError(
        "no problem was given at which to check results");
  }
  std::vector<Problem> legal;
  for (const Problem& problem : problems) {
    if (CheckLaunch(spec, configuration, problem, 1).ok()) {
      legal.push_back(problem);
    }
  }
  if (must_check && legal.empty()) {
    return absl::FailedPreconditionError(
        "none of the problems at which results are checked is legal for it; "
        "add one to the manifest's correctness_problems");
  }
  return legal;
}

}  // namespace wavetune
