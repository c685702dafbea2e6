#include "server/registry/stored_verification.h"

#include <map>
#include <utility>

namespace wavetune {
namespace {

Configuration ChosenAt(const CompiledTable& table, const Problem& problem) {
  return table
      .Resolve(table.SubTableIndex(problem.specialisation), problem.View())
      .configuration;
}

}  // namespace

VerificationPlan PlanStoredVerification(const KernelSpec& spec,
                                        const std::vector<Sample>& samples,
                                        const CompiledTable& table,
                                        const CompiledTable* incumbent,
                                        std::vector<Sample>* measured) {
  // Ordered, so that equal samples give equal plans.
  std::map<Problem, std::map<Configuration, const Sample*>> by_problem;
  for (const Sample& sample : samples) {
    if (sample.suspect || !(sample.latency_us > 0)) continue;
    by_problem[sample.problem][sample.configuration] = &sample;
  }
  VerificationPlan plan;
  measured->clear();
  for (const auto& [problem, latest] : by_problem) {
    VerificationPlan::Point point{.problem = problem};
    point.chosen = ChosenAt(table, problem);
    point.standard = spec.default_configuration;
    point.incumbent =
        incumbent ? ChosenAt(*incumbent, problem) : point.standard;
    if (!latest.contains(point.chosen) || !latest.contains(point.incumbent) ||
        !latest.contains(point.standard)) {
      continue;
    }
    std::map<Configuration, bool> added;
    for (const Configuration& configuration :
         {point.chosen, point.incumbent, point.standard}) {
      if (std::exchange(added[configuration], true)) continue;
      plan.items.push_back({configuration, problem});
      measured->push_back(*latest.at(configuration));
    }
    plan.points.push_back(std::move(point));
  }
  return plan;
}

}  // namespace wavetune
