#include "client/cli/bench_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/format.h"
#include "client/cli/statistics.h"
#include "client/cli/text_table.h"
#include "model/status_macros.h"
#include "proto/convert/types.h"

namespace wavetune::cli {
namespace {

std::string LatencyOrDash(double us) {
  return us > 0 ? absl::StrFormat("%.2f", us) : "-";
}

std::string PercentOrDash(double fraction) {
  return fraction > 0 ? FormatPercent(fraction) : "-";
}

std::string Clock(const BenchLine& line) {
  if (line.throttled) return absl::StrCat(line.sm_clock_mhz, " throttled");
  return line.sm_clock_mhz > 0 ? absl::StrCat(line.sm_clock_mhz) : "-";
}

// Only the values: the columns of a table are headed with the names.
std::string Values(const Configuration& configuration) {
  std::string text;
  for (int64_t value : configuration.values())
    absl::StrAppend(&text, text.empty() ? "" : "/", value);
  return text;
}

std::string ValueNames(const KernelSpec& spec) {
  std::string text;
  for (const Parameter& parameter : spec.parameters)
    absl::StrAppend(&text, text.empty() ? "" : "/", parameter.name);
  return text;
}

std::string SourceName(v1::DecisionSource source) {
  return source == v1::DECISION_SOURCE_UNSPECIFIED
             ? "-"
             : v1::DecisionSource_Name(source);
}

}  // namespace

double BenchLine::FractionOfBest() const {
  return best_us > 0 && chosen_us > 0 ? best_us / chosen_us : 0;
}

double BenchLine::SpeedUp() const {
  return default_us > 0 && chosen_us > 0 ? default_us / chosen_us : 0;
}

absl::StatusOr<BenchLine> ToBenchLine(const KernelSpec& spec,
                                      const std::vector<Shape>& shapes,
                                      const v1::MeasuredProblem& result) {
  BenchLine line;
  ASSIGN_OR_RETURN(line.shape.problem,
                   ProblemFromProto(spec.dimensions, result.problem()));
  const auto shape =
      std::find_if(shapes.begin(), shapes.end(), [&line](const Shape& other) {
        return other.problem == line.shape.problem;
      });
  if (shape != shapes.end()) line.shape.label = shape->label;
  const int parameters = static_cast<int>(spec.parameters.size());
  if (result.has_chosen()) {
    ASSIGN_OR_RETURN(
        line.chosen,
        ConfigurationFromProto(parameters, result.chosen().configuration()));
    line.chosen_us = result.chosen().latency_us();
  }
  if (result.has_best()) {
    ASSIGN_OR_RETURN(line.best, ConfigurationFromProto(
                                    parameters, result.best().configuration()));
    line.best_us = result.best().latency_us();
  }
  if (result.has_default_configuration())
    line.default_us = result.default_configuration().latency_us();
  for (const v1::MeasuredConfiguration* measured :
       {&result.chosen(), &result.default_configuration(), &result.best()}) {
    const int32_t mhz = measured->sm_clock_mhz();
    if (mhz > 0 && (line.sm_clock_mhz == 0 || mhz < line.sm_clock_mhz))
      line.sm_clock_mhz = mhz;
    line.throttled |= measured->throttled();
  }
  line.source = result.source();
  line.predicted_us = result.predicted_us();
  line.relative_bound = result.relative_bound();
  line.candidates = result.all_size();
  line.remeasured = static_cast<int>(std::count_if(
      result.all().begin(), result.all().end(),
      [](const v1::MeasuredConfiguration& c) { return c.remeasured(); }));
  return line;
}

BenchSummary Summarise(const std::vector<BenchLine>& lines) {
  std::vector<double> fractions;
  std::vector<double> speed_ups;
  std::vector<double> default_fractions;
  BenchSummary summary;
  int inside = 0;
  for (const BenchLine& line : lines) {
    summary.throttled += line.throttled ? 1 : 0;
    if (line.FractionOfBest() > 0) fractions.push_back(line.FractionOfBest());
    if (line.SpeedUp() > 0) speed_ups.push_back(line.SpeedUp());
    if (line.best_us > 0 && line.default_us > 0)
      default_fractions.push_back(line.best_us / line.default_us);
    if (line.predicted_us > 0 && line.chosen_us > 0) {
      ++summary.predicted;
      inside += std::abs(line.chosen_us - line.predicted_us) <=
                line.relative_bound * line.predicted_us;
    }
  }
  summary.lines = static_cast<int>(lines.size());
  summary.compared_with_best = static_cast<int>(fractions.size());
  summary.compared_with_default = static_cast<int>(speed_ups.size());
  summary.fraction_geomean = GeometricMean(fractions);
  summary.fraction_p5 = Quantile(fractions, 0.05);
  summary.fraction_min = Quantile(fractions, 0);
  summary.speed_up_geomean = GeometricMean(speed_ups);
  summary.speed_up_min = Quantile(speed_ups, 0);
  summary.default_fraction_geomean = GeometricMean(default_fractions);
  if (summary.predicted > 0)
    summary.within_bound = static_cast<double>(inside) / summary.predicted;
  return summary;
}

std::string SummaryLine(const BenchSummary& summary) {
  std::string text = absl::StrCat(summary.lines, " shapes");
  if (summary.compared_with_best > 0)
    absl::StrAppend(&text, ": chosen is ",
                    FormatPercent(summary.fraction_geomean),
                    " of the exhaustive best (geometric mean; 5th percentile ",
                    FormatPercent(summary.fraction_p5), ", worst ",
                    FormatPercent(summary.fraction_min), "), default ",
                    FormatPercent(summary.default_fraction_geomean));
  if (summary.compared_with_default > 0)
    absl::StrAppendFormat(&text,
                          "; chosen is %.3fx as fast as the default (geometric "
                          "mean; worst %.3fx)",
                          summary.speed_up_geomean, summary.speed_up_min);
  if (summary.predicted > 0)
    absl::StrAppend(&text, "; ", FormatPercent(summary.within_bound),
                    " of the latencies within their error bounds");
  if (summary.throttled > 0)
    absl::StrAppend(&text, "; the device was throttled at ", summary.throttled,
                    " of the shapes: let it cool and measure again");
  return text;
}

void PrintBench(std::ostream& out, const KernelSpec& spec,
                const std::vector<BenchLine>& lines) {
  out << "configurations are " << ValueNames(spec) << "\n";
  TextTable table({"", "PROBLEM", "CHOSEN", "SOURCE", "PREDICTED us",
                   "CHOSEN us", "DEFAULT us", "BEST us", "REGRET", "OF BEST",
                   "VS DEFAULT", "MHz", "BEST CONFIGURATION"});
  for (const BenchLine& line : lines) {
    const double fraction = line.FractionOfBest();
    table.AddRow(
        {line.shape.label, FormatProblem(spec.dimensions, line.shape.problem),
         line.chosen_us > 0 ? Values(line.chosen) : "-",
         SourceName(line.source), LatencyOrDash(line.predicted_us),
         LatencyOrDash(line.chosen_us), LatencyOrDash(line.default_us),
         LatencyOrDash(line.best_us),
         fraction > 0 ? FormatPercent(1 / fraction - 1) : "-",
         PercentOrDash(fraction),
         line.SpeedUp() > 0 ? absl::StrFormat("%.2fx", line.SpeedUp()) : "-",
         Clock(line), line.best_us > 0 ? Values(line.best) : "-"});
  }
  table.Print(out);
  out << "\n" << SummaryLine(Summarise(lines)) << "\n";
}

Json BenchJson(const KernelSpec& spec, const std::vector<BenchLine>& lines) {
  const std::vector<std::string> parameters = ParameterNames(spec);
  Json shapes = Json::array();
  for (const BenchLine& line : lines) {
    const double fraction = line.FractionOfBest();
    shapes.push_back(Json{
        {"label", line.shape.label},
        {"problem", ToJson(spec.dimensions, line.shape.problem)},
        {"chosen", ToJson(parameters, line.chosen)},
        {"source", SourceName(line.source)},
        {"predicted_us", line.predicted_us},
        {"relative_bound", line.relative_bound},
        {"chosen_us", line.chosen_us},
        {"default_us", line.default_us},
        {"best", ToJson(parameters, line.best)},
        {"best_us", line.best_us},
        {"regret", fraction > 0 ? Json(1 / fraction - 1) : Json(nullptr)},
        {"fraction_of_best", fraction > 0 ? Json(fraction) : Json(nullptr)},
        {"speed_up_over_default",
         line.SpeedUp() > 0 ? Json(line.SpeedUp()) : Json(nullptr)},
        {"sm_clock_mhz", line.sm_clock_mhz},
        {"throttled", line.throttled},
        {"candidates_measured", line.candidates},
        {"candidates_remeasured", line.remeasured}});
  }
  const BenchSummary summary = Summarise(lines);
  return Json{{"kernel", spec.name},
              {"shapes", std::move(shapes)},
              {"summary",
               {{"shapes", summary.lines},
                {"compared_with_best", summary.compared_with_best},
                {"oracle_fraction_geomean", summary.fraction_geomean},
                {"oracle_fraction_p5", summary.fraction_p5},
                {"oracle_fraction_min", summary.fraction_min},
                {"default_fraction_geomean", summary.default_fraction_geomean},
                {"speed_up_over_default_geomean", summary.speed_up_geomean},
                {"speed_up_over_default_min", summary.speed_up_min},
                {"within_bound", summary.within_bound},
                {"throttled", summary.throttled},
                {"text", SummaryLine(summary)}}}};
}

}  // namespace wavetune::cli
