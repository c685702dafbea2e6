#include "model/kernel/correctness_problems.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "model/kernel/edge_problems.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping_inverse.h"

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

absl::StatusOr<std::vector<Problem>> CandidateProblems(
    const KernelSpec& spec, const std::string& specialisation,
    const Configuration& configuration, const std::vector<Problem>& declared) {
  std::vector<Problem> problems;
  const auto add = [&problems](Problem problem) {
    if (std::find(problems.begin(), problems.end(), problem) ==
        problems.end()) {
      problems.push_back(std::move(problem));
    }
  };
  for (const Problem& problem : declared) {
    if (CheckProblem(spec, problem).ok() &&
        IsLegal(spec, configuration, problem.View())) {
      add(problem);
    }
  }
  for (Problem& problem : EdgeProblems(spec, specialisation, configuration)) {
    add(std::move(problem));
  }
  if (problems.empty()) {
    ASSIGN_OR_RETURN(
        problems.emplace_back(),
        InvertMapping(
            spec, specialisation, configuration,
            {.tiles = 3, .iterations = 2, .rows = 0, .row_fill = 0.6}));
  }
  return problems;
}

absl::StatusOr<std::vector<Problem>> CorrectnessProblems(
    const KernelSpec& spec, const std::string& specialisation,
    const Configuration& configuration) {
  return CandidateProblems(spec, specialisation, configuration,
                           DeclaredCorrectnessProblems(spec, specialisation));
}

}  // namespace wavetune
