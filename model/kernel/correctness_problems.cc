#include "model/kernel/correctness_problems.h"

#include "model/kernel/mapping_inverse.h"
#include "model/status_macros.h"

namespace wavetune {

std::vector<Problem> DeclaredCorrectnessProblems(
    const KernelSpec& spec, const std::string& specialisation) {
  std::vector<Problem> problems;
  for (const WeightedProblem& declared : spec.correctness_problems) {
    const std::string& of = declared.problem.specialisation;
    if (!of.empty() && of != specialisation) continue;
    problems.push_back(declared.problem);
    problems.back().specialisation = specialisation;
  }
  return problems;
}

absl::StatusOr<std::vector<Problem>> CorrectnessProblems(
    const KernelSpec& spec, const std::string& specialisation) {
  std::vector<Problem> problems =
      DeclaredCorrectnessProblems(spec, specialisation);
  if (problems.empty()) {
    ASSIGN_OR_RETURN(
        problems.emplace_back(),
        InvertMapping(
            spec, specialisation, spec.default_configuration,
            {.tiles = 3, .iterations = 2, .rows = 0, .row_fill = 0.6}));
  }
  return problems;
}

}  // namespace wavetune
