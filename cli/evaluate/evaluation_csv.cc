#include "cli/evaluate/evaluation_csv.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/csv_text.h"
#include "base/status_macros.h"
#include "cli/format.h"
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

namespace {

class EvaluationParser {
 public:
  EvaluationParser(const Table& table, absl::string_view csv)
      : table_(table), csv_(csv, "decisions") {}

  absl::StatusOr<std::vector<DecisionLine>> Run() {
    RETURN_IF_ERROR(ReadHeader());
    while (csv_.Next()) RETURN_IF_ERROR(ReadLine());
    if (decisions_.empty())
      return csv_.Fault(
          "there is no decision; give a line for each judged problem");
    return std::move(decisions_);
  }

 private:
  bool HasSpecialisations() const {
    return table_.sub_tables.size() > 1 ||
           (!table_.sub_tables.empty() &&
            !table_.sub_tables[0].specialisation.empty());
  }

  absl::Status ReadHeader() {
    RETURN_IF_ERROR(csv_.ReadHeader());
    for (const Dimension& dimension : table_.dimensions)
      RETURN_IF_ERROR(csv_.Require(dimension.name, dimensions_.emplace_back()));
    for (const std::string& parameter : table_.parameters)
      RETURN_IF_ERROR(csv_.Require(parameter, parameters_.emplace_back()));
    if (HasSpecialisations())
      RETURN_IF_ERROR(csv_.Require("specialisation", specialisation_));
    return absl::OkStatus();
  }

  absl::Status ReadLine() {
    RETURN_IF_ERROR(csv_.CheckWidth());
    DecisionLine decision{.line = csv_.line()};
    RETURN_IF_ERROR(ReadSpecialisation(decision.problem.specialisation));
    for (size_t i = 0; i < dimensions_.size(); ++i)
      RETURN_IF_ERROR(ReadExtents(i, decision.problem));
    std::vector<int64_t> values(parameters_.size());
    for (size_t i = 0; i < parameters_.size(); ++i)
      RETURN_IF_ERROR(csv_.ReadInteger(parameters_[i], values[i]));
    decision.configuration = Configuration(values);
    const auto [first, inserted] =
        lines_.emplace(decision.problem, decision.line);
    if (!inserted)
      return csv_.Fault(
          absl::StrCat(FormatProblem(table_.dimensions, decision.problem),
                       " was decided in line ", first->second,
                       " already; keep one of the two"));
    decisions_.push_back(std::move(decision));
    return absl::OkStatus();
  }

  absl::Status ReadSpecialisation(std::string& specialisation) const {
    if (specialisation_ == CsvReader::kAbsent) return absl::OkStatus();
    specialisation = std::string(csv_.cell(specialisation_));
    if (std::any_of(table_.sub_tables.begin(), table_.sub_tables.end(),
                    [&](const SubTable& sub) {
                      return sub.specialisation == specialisation;
                    }))
      return absl::OkStatus();
    return csv_.CellFault(
        specialisation_,
        absl::StrCat("is no specialisation of the table; it has ",
                     absl::StrJoin(table_.sub_tables, ", ",
                                   [](std::string* out, const SubTable& sub) {
                                     absl::StrAppend(out, sub.specialisation);
                                   })));
  }

  absl::Status ReadExtents(size_t dimension, Problem& problem) const {
    const int column = dimensions_[dimension];
    problem.extents.push_back(0);
    if (!table_.dimensions[dimension].repeated)
      return csv_.ReadInteger(column, problem.extents.back());
    for (const absl::string_view element : SplitExtents(csv_.cell(column))) {
      if (!absl::SimpleAtoi(element, &problem.repeated.emplace_back()))
        return csv_.CellFault(
            column, "has an element that is no whole number; correct it");
    }
    return absl::OkStatus();
  }

  const Table& table_;
  CsvReader csv_;
  std::vector<int> dimensions_;  // Columns.
  std::vector<int> parameters_;
  int specialisation_ = CsvReader::kAbsent;
  std::map<Problem, int64_t> lines_;
  std::vector<DecisionLine> decisions_;
};

}  // namespace

absl::StatusOr<std::vector<DecisionLine>> ParseDecisions(
    const Table& table, absl::string_view csv) {
  return EvaluationParser(table, csv).Run();
}

}  // namespace wavetune::cli
