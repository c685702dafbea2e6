// What reports do whatever their source.
#include "cli/report/report_source.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {

std::vector<Problem> RepresentativeProblems(const KernelSpec& spec) {
  std::vector<Problem> problems;
  for (const std::string& name : spec.SpecialisationNames()) {
    for (const WeightedProblem& one : spec.representative_problems) {
      const std::string& own = one.problem.specialisation;
      if (!own.empty() && own != name) continue;
      problems.push_back(one.problem);
      problems.back().specialisation = name;
    }
  }
  return problems;
}

void KeepApart(ReportInput& report) {
  std::set<Problem> seen(report.representative.begin(),
                         report.representative.end());
  for (const Sample& sample : report.fitted) seen.insert(sample.problem);
  const auto known = std::stable_partition(
      report.judged.begin(), report.judged.end(),
      [&seen](const Sample& sample) { return !seen.contains(sample.problem); });
  std::set<Problem> problems;
  for (auto it = known; it != report.judged.end(); ++it)
    problems.insert(it->problem);
  report.known.assign(problems.begin(), problems.end());
  std::move(known, report.judged.end(), std::back_inserter(report.held_out));
  report.judged.erase(known, report.judged.end());
}

}  // namespace wavetune::cli
