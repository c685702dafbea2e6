#include "cli/evaluate/evaluation_output.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"
#include "model/kernel/configuration_text.h"

namespace wavetune::cli {
namespace {

constexpr size_t kWorstShown = 5;

Json FiguresJson(const EvaluationFigures& figures) {
  return Json{{"problems", figures.problems},
              {"oracle_fraction_geomean", figures.fraction_geomean},
              {"oracle_fraction_p5", figures.fraction_p5},
              {"oracle_fraction_min", figures.fraction_min},
              {"default_fraction_geomean", figures.default_fraction_geomean},
              {"within_bound", figures.within_bound},
              {"bound_median", figures.bound_median},
              {"extrapolated", figures.extrapolated}};
}

void PrintFigures(Output& out, const EvaluationFigures& figures) {
  out << "  of the best     " << FormatPercent(figures.fraction_geomean)
      << " geometric mean, " << FormatPercent(figures.fraction_p5)
      << " 5th percentile, " << FormatPercent(figures.fraction_min)
      << " worst (" << figures.problems << " problems)\n"
      << "  default         "
      << (figures.default_fraction_geomean > 0
              ? absl::StrCat(FormatPercent(figures.default_fraction_geomean),
                             " of the best")
              : "not recorded")
      << "\n  error bounds    " << FormatPercent(figures.within_bound)
      << " of the chosen latencies inside, median half-width "
      << FormatPercent(figures.bound_median) << ", " << figures.extrapolated
      << " decisions extrapolated\n";
}

}  // namespace

void PrintEvaluation(Output& out, const TraceFit& fit,
                     const Evaluation& evaluation) {
  out << fit.table->table().kernel << ": table "
      << ShortDigest(fit.table->digest()) << ", "
      << FormatBytes(static_cast<int64_t>(fit.table->payload().size()))
      << ", fitted from " << absl::StrFormat("%.1f", fit.SamplesPerCandidate())
      << " samples per candidate (" << fit.samples.size() << " samples of "
      << fit.candidates << " candidates)\n";
  PrintFigures(out, evaluation.overall);
  for (const EvaluationFigures& figures : evaluation.by_specialisation) {
    out << figures.specialisation << "\n";
    PrintFigures(out, figures);
  }
  for (const std::string& note : fit.report.notes)
    out << "  note: " << note << "\n";
  out << "worst problems\n";
  const Table& table = fit.table->table();
  TextTable worst({"PROBLEM", "OF BEST", "CHOSEN", "PREDICTED us", "CHOSEN us",
                   "BEST", "BEST us"});
  for (size_t i = 0; i < std::min(kWorstShown, evaluation.problems.size());
       ++i) {
    const JudgedProblem& judged = evaluation.problems[i];
    worst.AddRow(
        {FormatProblem(table.dimensions, judged.problem),
         FormatPercent(judged.Fraction()),
         FormatConfiguration(table.parameters, judged.decision.configuration),
         absl::StrFormat("%.2f", judged.decision.latency_us),
         absl::StrFormat("%.2f", judged.chosen_us),
         FormatConfiguration(table.parameters, judged.best),
         absl::StrFormat("%.2f", judged.best_us)});
  }
  worst.Print(out);
}

void PrintEvaluationJson(Output& out, const TraceFit& fit,
                         const Evaluation& evaluation) {
  Json json = FiguresJson(evaluation.overall);
  json["samples_per_candidate"] = fit.SamplesPerCandidate();
  json["samples"] = fit.samples.size();
  json["candidates"] = fit.candidates;
  json["digest"] = fit.table->digest();
  json["size_bytes"] = fit.table->payload().size();
  json["notes"] = fit.report.notes;
  json["specialisations"] = Json::object();
  for (const EvaluationFigures& figures : evaluation.by_specialisation)
    json["specialisations"][figures.specialisation] = FiguresJson(figures);
  json["worst"] = Json::array();
  const Table& table = fit.table->table();
  for (size_t i = 0; i < std::min(kWorstShown, evaluation.problems.size());
       ++i) {
    const JudgedProblem& judged = evaluation.problems[i];
    json["worst"].push_back(
        {{"problem", ToJson(table.dimensions, judged.problem)},
         {"oracle_fraction", judged.Fraction()},
         {"chosen", ToJson(table.parameters, judged.decision.configuration)},
         {"predicted_us", judged.decision.latency_us},
         {"chosen_us", judged.chosen_us},
         {"best", ToJson(table.parameters, judged.best)},
         {"best_us", judged.best_us}});
  }
  PrintJson(out, json);
}

}  // namespace wavetune::cli
