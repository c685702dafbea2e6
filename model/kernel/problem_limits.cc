#include "model/kernel/problem_limits.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"

namespace wavetune {

std::string LimitExceeded(const KernelSpec& spec, const Mapping& mapping,
                          const Configuration& configuration,
                          const Problem& problem, const ProblemLimits& limits) {
  for (const Argument& argument : spec.arguments) {
    if (argument.role == ArgumentRole::kScalar) continue;
    const int64_t elements =
        Evaluate(argument.size, problem.View(), configuration);
    if (elements > limits.max_elements) {
      return absl::StrCat(
          "argument '", argument.name, "' would have ", elements,
          " elements, above limits.max_elements = ", limits.max_elements);
    }
  }
  const int64_t most = limits.max_total_iterations;
  const int64_t total =
      most > 0
          ? MapProblem(mapping, problem.View(), configuration).total_iterations
          : 0;
  if (total <= most) return "";
  return absl::StrCat("there would be ", total,
                      " iterations in total, above "
                      "limits.max_total_iterations = ",
                      most);
}

}  // namespace wavetune
