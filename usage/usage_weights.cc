#include "usage/usage_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

constexpr double kUsedShare = 0.5;

bool IsWeight(double weight) { return std::isfinite(weight) && weight > 0; }

// The spec's problems of one specialisation.
std::vector<WeightedProblem> Named(const KernelSpec& spec,
                                   const std::string& specialisation) {
  std::vector<WeightedProblem> named;
  for (WeightedProblem weighted : spec.representative_problems) {
    std::string& name = weighted.problem.specialisation;
    if (!name.empty() && name != specialisation) continue;
    name = specialisation;
    if (IsWeight(weighted.weight)) named.push_back(std::move(weighted));
  }
  return named;
}

void Append(const std::vector<WeightedProblem>& problems, double share,
            std::vector<WeightedProblem>* result) {
  double sum = 0;
  for (const WeightedProblem& weighted : problems) sum += weighted.weight;
  for (WeightedProblem weighted : problems) {
    weighted.weight = weighted.weight / sum * share;
    result->push_back(std::move(weighted));
  }
}

}  // namespace

bool IsMeasurable(const KernelSpec& kernel, const Problem& problem) {
  if (!CheckProblem(kernel, problem).ok()) return false;
  const KernelSpec& spec = kernel.Of(problem.specialisation);
  const Configuration& default_configuration = spec.default_configuration;
  const ProblemView view = problem.View();
  for (const Argument& argument : spec.arguments) {
    if (argument.role == ArgumentRole::kScalar) continue;
    const int64_t elements =
        Evaluate(argument.size, view, default_configuration);
    if (elements > spec.limits.max_elements) return false;
  }
  const int64_t most = spec.limits.max_total_iterations;
  return most == 0 || MapProblem(spec.MappingOf(problem.specialisation), view,
                                 default_configuration)
                              .total_iterations <= most;
}

std::vector<WeightedProblem> MostUsed(
    const KernelSpec& spec, const std::vector<WeightedProblem>& used) {
  // Equal problems add up in the order of their weights, not the input's.
  std::map<Problem, std::vector<double>> parts;
  for (const WeightedProblem& weighted : used) {
    if (IsWeight(weighted.weight) && IsMeasurable(spec, weighted.problem)) {
      parts[weighted.problem].push_back(weighted.weight);
    }
  }
  std::vector<WeightedProblem> sums;
  for (auto& [problem, weights] : parts) {
    std::sort(weights.begin(), weights.end());
    double sum = 0;
    for (const double weight : weights) sum += weight;
    if (std::isfinite(sum)) sums.push_back({problem, sum});
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const WeightedProblem& a, const WeightedProblem& b) {
                     return a.weight > b.weight;
                   });
  if (sums.size() > kMostUsedProblems) sums.resize(kMostUsedProblems);
  return sums;
}

std::vector<WeightedProblem> WithUsage(
    const KernelSpec& spec, const std::vector<WeightedProblem>& used) {
  std::map<std::string, std::vector<WeightedProblem>> by_name;
  for (WeightedProblem& weighted : MostUsed(spec, used)) {
    by_name[weighted.problem.specialisation].push_back(std::move(weighted));
  }
  std::vector<WeightedProblem> result;
  bool any_used = false;
  for (const std::string& name : spec.SpecialisationNames()) {
    const std::vector<WeightedProblem> named = Named(spec, name);
    const std::vector<WeightedProblem>& asked = by_name[name];
    const bool counts =
        asked.size() >= (named.empty() ? kFewestWithoutNamed : 1);
    Append(named, counts ? 1 - kUsedShare : 1, &result);
    if (!counts) continue;
    any_used = true;
    Append(asked, named.empty() ? 1 : kUsedShare, &result);
  }
  if (!any_used) result.clear();
  return result;
}

}  // namespace wavetune
