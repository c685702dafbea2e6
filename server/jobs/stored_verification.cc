#include "server/jobs/stored_verification.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

Configuration ChosenAt(const CompiledTable& table, const Problem& problem) {
  return table
      .Resolve(table.SubTableIndex(problem.specialisation), problem.View())
      .configuration;
}

bool IsExcluded(const ProfileInput& input, const Configuration& configuration,
                const std::string& specialisation) {
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != specialisation) continue;
    for (const Candidate& candidate : input.candidates[i]) {
      if (candidate.configuration == configuration) return candidate.excluded();
    }
  }
  return false;
}

}  // namespace

VerificationPlan PlanStoredVerification(const ProfileInput& input,
                                        const CompiledTable& table,
                                        const CompiledTable* incumbent,
                                        std::vector<Sample>* measured) {
  // Ordered, so that equal samples give equal plans.
  std::map<Problem, std::map<Configuration, const Sample*>> by_problem;
  for (const Sample& sample : input.samples) {
    if (sample.suspect || !(sample.latency_us > 0)) continue;
    by_problem[sample.problem][sample.configuration] = &sample;
  }
  const Configuration& default_configuration =
      input.spec->default_configuration;
  VerificationPlan plan;
  measured->clear();
  for (const auto& [problem, latest] : by_problem) {
    VerificationPlan::Point point{.problem = problem};
    point.chosen = ChosenAt(table, problem);
    point.has_default =
        !IsExcluded(input, default_configuration, problem.specialisation);
    point.default_configuration =
        point.has_default ? default_configuration : point.chosen;
    point.has_incumbent = incumbent != nullptr;
    point.incumbent =
        incumbent ? ChosenAt(*incumbent, problem) : point.default_configuration;
    if (!latest.contains(point.chosen) || !latest.contains(point.incumbent) ||
        !latest.contains(point.default_configuration)) {
      continue;
    }
    std::map<Configuration, bool> added;
    for (const Configuration& configuration :
         {point.chosen, point.incumbent, point.default_configuration}) {
      if (std::exchange(added[configuration], true)) continue;
      plan.items.push_back({configuration, problem});
      measured->push_back(*latest.at(configuration));
    }
    plan.points.push_back(std::move(point));
  }
  return plan;
}

}  // namespace wavetune
