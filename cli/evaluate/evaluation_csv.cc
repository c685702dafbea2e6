#include "cli/evaluate/evaluation_csv.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/csv_text.h"
#include "formats/kernel_columns.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Columns of a problem and a configuration.
void AddPairNames(const KernelSpec& spec, CsvWriter& csv) {
  if (!spec.specialisations.empty()) csv.Add("specialisation");
  AddDimensionNames(spec, csv);
  AddParameterNames(spec, csv);
}

void AddPair(const KernelSpec& spec, const Problem& problem,
             const Configuration& configuration, CsvWriter& csv) {
  if (!spec.specialisations.empty()) csv.Add(problem.specialisation);
  AddExtents(spec, problem, csv);
  csv.AddAll(configuration.values());
}

}  // namespace

std::string SamplesCsv(const KernelSpec& spec,
                       const std::vector<Sample>& samples) {
  CsvWriter csv;
  AddPairNames(spec, csv);
  csv.Add("latency_us", "latency_us_min", "relative_spread", "suspect")
      .EndLine();
  for (const Sample& sample : samples) {
    AddPair(spec, sample.problem, sample.configuration, csv);
    csv.Add(absl::StrFormat("%.6g", sample.latency_us),
            absl::StrFormat("%.6g", sample.min_us),
            absl::StrFormat("%.3g", sample.relative_spread),
            sample.suspect ? 1 : 0)
        .EndLine();
  }
  return std::move(csv).text();
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
  CsvWriter csv;
  AddPairNames(spec, csv);
  csv.Add("source", "predicted_us", "relative_bound", "chosen_us", "best_us",
          "default_us")
      .EndLine();
  for (const JudgedProblem* judged : sorted) {
    const Decision& decision = judged->decision;
    AddPair(spec, judged->problem, decision.configuration, csv);
    csv.Add(ToString(decision.source),
            absl::StrFormat("%.6g", decision.latency_us),
            absl::StrFormat("%.4g", decision.relative_bound),
            absl::StrFormat("%.6g", judged->chosen_us),
            absl::StrFormat("%.6g", judged->best_us),
            judged->default_us > 0 ? absl::StrFormat("%.6g", judged->default_us)
                                   : "")
        .EndLine();
  }
  return std::move(csv).text();
}

}  // namespace wavetune::cli
