#include "cli/evaluate/evaluation_csv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/format.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Columns of a problem and a configuration.
std::string PairColumns(const KernelSpec& spec) {
  std::string columns = spec.specialisations.empty() ? "" : "specialisation,";
  for (const Dimension& dimension : spec.dimensions) {
    absl::StrAppend(&columns, dimension.name, ",");
  }
  return absl::StrCat(columns, absl::StrJoin(ParameterNames(spec), ","));
}

std::string PairCells(const KernelSpec& spec, const Problem& problem,
                      const Configuration& configuration) {
  std::string cells;
  if (!spec.specialisations.empty()) {
    absl::StrAppend(&cells, problem.specialisation, ",");
  }
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    absl::StrAppend(&cells,
                    spec.dimensions[i].repeated
                        ? absl::StrJoin(problem.repeated, " ")
                        : absl::StrCat(problem.extents[i]),
                    ",");
  }
  return absl::StrCat(cells, absl::StrJoin(configuration.values(), ","));
}

}  // namespace

std::string SamplesCsv(const KernelSpec& spec,
                       const std::vector<Sample>& samples) {
  std::string csv =
      absl::StrCat(PairColumns(spec),
                   ",latency_us,latency_us_min,relative_spread,suspect\n");
  for (const Sample& sample : samples) {
    absl::StrAppend(&csv,
                    PairCells(spec, sample.problem, sample.configuration));
    absl::StrAppendFormat(&csv, ",%.6g,%.6g,%.3g,%d\n", sample.latency_us,
                          sample.min_us, sample.relative_spread,
                          sample.suspect ? 1 : 0);
  }
  return csv;
}

std::string DecisionsCsv(const KernelSpec& spec, const Evaluation& evaluation) {
  std::vector<const JudgedProblem*> sorted;
  for (const JudgedProblem& judged : evaluation.problems) {
    sorted.push_back(&judged);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const JudgedProblem* a, const JudgedProblem* b) {
                     return a->problem < b->problem;
                   });
  std::string csv = absl::StrCat(
      PairColumns(spec),
      ",source,predicted_us,relative_bound,chosen_us,best_us,default_us\n");
  for (const JudgedProblem* judged : sorted) {
    const Decision& decision = judged->decision;
    absl::StrAppend(&csv,
                    PairCells(spec, judged->problem, decision.configuration),
                    ",", ToString(decision.source));
    absl::StrAppendFormat(&csv, ",%.6g,%.4g,%.6g,%.6g,", decision.latency_us,
                          decision.relative_bound, judged->chosen_us,
                          judged->best_us);
    if (judged->default_us > 0) {
      absl::StrAppendFormat(&csv, "%.6g", judged->default_us);
    }
    csv.push_back('\n');
  }
  return csv;
}

}  // namespace wavetune::cli
