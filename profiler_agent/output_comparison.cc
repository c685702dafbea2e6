#include "profiler_agent/output_comparison.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/kernel/element_type.h"
#include "model/kernel/kernel_validation.h"
#include "profiler_agent/buffer_values.h"

namespace wavetune {

std::string CheckedContent(const KernelSpec& spec, const Argument& argument,
                           const Problem& problem, size_t elements,
                           uint64_t seed) {
  return argument.role == ArgumentRole::kOutput
             ? PoisonValues(argument.type, elements + kGuardElements)
             : InputValues(spec, argument, problem, elements, seed);
}

absl::Status BrokenReference(const absl::Status& status) {
  if (status.ok() || absl::IsUnavailable(status) ||
      absl::IsResourceExhausted(status)) {
    return status;
  }
  return absl::UnimplementedError(
      absl::StrCat("the reference kernel is broken: ", status.message()));
}

absl::Status CompareOutputs(const KernelSpec& spec, const Argument& argument,
                            const Problem& problem, absl::string_view out,
                            absl::string_view reference) {
  const size_t bytes =
      out.size() - kGuardElements * ElementBytes(argument.type);
  const std::string guard = PoisonValues(argument.type, kGuardElements);
  const std::string at = absl::StrCat(" of output '", argument.name, "' at ",
                                      FormatProblem(spec, problem));
  if (reference.substr(bytes) != guard) {
    return BrokenReference(
        absl::DataLossError(absl::StrCat("it writes past the end", at)));
  }
  if (out.substr(bytes) != guard) {
    return absl::DataLossError(absl::StrCat("writes past the end", at));
  }
  const double error = RelativeError(argument.type, out.substr(0, bytes),
                                     reference.substr(0, bytes));
  const double tolerance = spec.correctness->relative_tolerance;
  if (error <= tolerance) return absl::OkStatus();  // False for NaN.
  return absl::DataLossError(absl::StrCat(
      "relative error ", error, " exceeds ", tolerance, at,
      std::isnan(error) ? " (not every element was written, or one is NaN)"
                        : ""));
}

}  // namespace wavetune
