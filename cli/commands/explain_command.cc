// wavetune explain.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/question.h"
#include "cli/text_table.h"
#include "model/kernel/configuration_text.h"

namespace wavetune::cli {
namespace {

std::string RemarkOf(const ExplainedGroup& row) {
  std::vector<std::string> remarks;
  if (row.extrapolated) remarks.push_back("extrapolated");
  if (row.of_layer) remarks.push_back("layer was measured");
  if (row.kept_default) remarks.push_back("default kept");
  if (row.rank_us != row.latency_us) {
    remarks.push_back(
        absl::StrCat("counts as ", FormatMicroseconds(row.rank_us)));
  }
  return absl::StrJoin(remarks, ", ");
}

void PrintRows(Output& out, const Tuner& tuner,
               const std::vector<ExplainedGroup>& rows) {
  TextTable table({"", "CONFIGURATION", "G", "L", "W", "CAPACITY", "REGIME",
                   "PREDICTED", "BOUND", "REMARK"});
  for (const ExplainedGroup& row : rows) {
    table.AddRow(
        {row.chosen ? "->" : "",
         FormatConfiguration(tuner.parameters(), row.configuration),
         absl::StrCat(row.coordinates.tiles),
         absl::StrFormat("%.6g", row.coordinates.iterations),
         absl::StrCat(row.waves), absl::StrCat(row.tiles_per_wave),
         FormatRowRegime(row.row_regime), FormatMicroseconds(row.latency_us),
         FormatPercent(row.relative_bound),
         row.legal
             ? RemarkOf(row)
             : absl::StrCat("excluded: ", absl::StrJoin(row.broken, ", "))});
  }
  table.Print(out, "no rows: every answer is the default");
}

Json RowJson(const Tuner& tuner, const ExplainedGroup& row) {
  return Json{{"configuration", ToJson(tuner.parameters(), row.configuration)},
              {"tiles", row.coordinates.tiles},
              {"iterations", row.coordinates.iterations},
              {"waves", row.waves},
              {"capacity", row.tiles_per_wave},
              {"row_regime", FormatRowRegime(row.row_regime)},
              {"latency_us", row.latency_us},
              {"rank_us", row.rank_us},
              {"relative_bound", row.relative_bound},
              {"legal", row.legal},
              {"chosen", row.chosen},
              {"extrapolated", row.extrapolated},
              {"of_layer", row.of_layer},
              {"kept_default", row.kept_default},
              {"excluded_by", absl::StrJoin(row.broken, ", ")}};
}

// Where rows compete slower than predicted.
std::string MarginText(const std::vector<ExplainedGroup>& rows) {
  const bool any =
      std::any_of(rows.begin(), rows.end(), [](const ExplainedGroup& row) {
        return row.legal && row.rank_us != row.latency_us;
      });
  return any ? " (rows count slower than predicted where little or nothing was "
               "measured)"
             : "";
}

std::string ExcludedText(const std::vector<ExplainedGroup>& rows) {
  const auto excluded =
      std::count_if(rows.begin(), rows.end(),
                    [](const ExplainedGroup& row) { return !row.legal; });
  if (excluded == 0) return "";
  return absl::StrCat("; predicates exclude ", excluded, " of ", rows.size(),
                      " rows");
}

// Returns why the decision is what it is, in a sentence.
std::string WhyItWon(const Tuner& tuner, const Decision& decision,
                     const std::vector<ExplainedGroup>& rows) {
  if (tuner.table() == nullptr)
    return "the daemon has no table of this kernel yet: the default";
  const auto winner =
      std::find_if(rows.begin(), rows.end(),
                   [](const ExplainedGroup& row) { return row.chosen; });
  if (decision.source == DecisionSource::kDefault || winner == rows.end())
    return absl::StrCat("no row can answer: the default", ExcludedText(rows));
  if (winner->of_layer)
    return absl::StrCat(
        "this layer was measured: from what rows took there, at this or other "
        "extents, this one is expected to be fastest, or as fast as the one "
        "that serves fewer rows (`wavetune tables show`)",
        ExcludedText(rows));
  const ExplainedGroup& fastest = rows[0];
  if (winner->kept_default)
    return absl::StrCat(
        "it is the default: beyond what was measured this table's predictions "
        "are uncertain, and no row is faster by more than its bound (the "
        "lowest prediction is ",
        FormatMicroseconds(fastest.latency_us), ", give or take ",
        FormatPercent(fastest.relative_bound), ")", ExcludedText(rows));
  if (winner == rows.begin()) {
    std::string text =
        absl::StrCat("it has the lowest prediction", MarginText(rows));
    if (rows.size() > 1 && rows[1].legal)
      absl::StrAppend(&text, ", ",
                      FormatPercent(rows[1].rank_us / fastest.rank_us - 1),
                      " below the next row");
    return absl::StrCat(text, ExcludedText(rows));
  }
  return absl::StrCat(
      "it is predicted within ", FormatPercent(tuner.table()->near_tie),
      " of the fastest row (", FormatMicroseconds(winner->rank_us), " against ",
      FormatMicroseconds(fastest.rank_us), MarginText(rows),
      ") and comes earlier in the table: near ties go to the earlier row, so "
      "that choices stay stable",
      ExcludedText(rows));
}

absl::Status RunExplain(CommandContext& context,
                        const ProblemOptions& options) {
  ASSIGN_OR_RETURN(Question question, AskTuner(context, options));
  RETURN_IF_ERROR(question.parsed.status());
  const Tuner& tuner = question.tuner;
  const ProblemView problem = question.parsed.problem.View();
  const Decision decision = tuner.Resolve(problem);
  const std::vector<ExplainedGroup> rows = tuner.Explain(problem);
  const std::string why = WhyItWon(tuner, decision, rows);
  if (context.json) {
    Json json = DecisionJson(question, decision);
    json["problem"] = ToJson(tuner.dimensions(), question.parsed.problem);
    json["why"] = why;
    json["rows"] = Json::array();
    for (const ExplainedGroup& row : rows)
      json["rows"].push_back(RowJson(tuner, row));
    PrintJson(*context.out, json);
    return CheckStale(options, tuner);
  }
  PrintDecision(*context.out, question, decision);
  *context.out << "why            " << why << "\n\n";
  PrintRows(*context.out, tuner, rows);
  return CheckStale(options, tuner);
}

}  // namespace

void AddExplainCommand(CommandRegistry& registry) {
  auto options = std::make_shared<ProblemOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "explain",
      "Decides for one problem and shows every row of the coefficient table: "
      "work tiles G, main-loop iterations L, waves W, predicted latency, and "
      "why the winner won.",
      {"wavetune explain gemm_f32 m=128 n=4096 k=4096",
       "wavetune explain gemm_f32 m=1 n=4096 k=4096 --json"},
      [options](CommandContext& context) {
        return RunExplain(context, *options);
      });
  AddProblemOptions(command, *options);
}

}  // namespace wavetune::cli
