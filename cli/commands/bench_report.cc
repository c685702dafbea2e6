#include "cli/commands/bench_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/statistics.h"
#include "cli/text_table.h"
#include "formats/types.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Below it a choice is slower than the default: 3 % is noise.
constexpr double kSlower = 0.97;

std::string LatencyOrDash(double us) {
  return us > 0 ? absl::StrFormat("%.2f", us) : "-";
}

std::string PercentOrDash(double fraction) {
  return fraction > 0 ? FormatPercent(fraction) : "-";
}

std::string ClockText(const BenchLine& line) {
  if (line.throttled) return absl::StrCat(line.sm_clock_mhz, " throttled");
  return line.sm_clock_mhz > 0 ? absl::StrCat(line.sm_clock_mhz) : "-";
}

// Only the values: the columns of a table are headed with the names.
std::string ValuesText(const Configuration& configuration) {
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

// Libraries in the order in which they first appear.
std::vector<std::string> Libraries(const std::vector<BenchLine>& lines) {
  std::vector<std::string> libraries;
  for (const BenchLine& line : lines) {
    for (const VendorBaselineLatency& baseline : line.vendor_baselines) {
      if (std::find(libraries.begin(), libraries.end(), baseline.library) ==
          libraries.end()) {
        libraries.push_back(baseline.library);
      }
    }
  }
  return libraries;
}

double LatencyOf(const BenchLine& line, const std::string& library) {
  for (const VendorBaselineLatency& baseline : line.vendor_baselines) {
    if (baseline.library == library) return baseline.latency_us;
  }
  return 0;
}

VendorBaselineSummary SummariseVendorBaseline(
    const std::vector<BenchLine>& lines, const std::string& library) {
  VendorBaselineSummary summary{.library = library};
  std::vector<double> against_chosen;
  std::vector<double> against_best;
  for (const BenchLine& line : lines) {
    for (const VendorBaselineLatency& baseline : line.vendor_baselines) {
      if (baseline.library != library) continue;
      if (baseline.latency_us <= 0) {
        if (summary.failed++ == 0) summary.failure = baseline.failure;
        continue;
      }
      ++summary.lines;
      if (line.chosen_us > 0)
        against_chosen.push_back(baseline.latency_us / line.chosen_us);
      if (line.best_us > 0)
        against_best.push_back(baseline.latency_us / line.best_us);
    }
  }
  summary.chosen_geomean = GeometricMean(against_chosen);
  summary.chosen_p10 = Quantile(against_chosen, 0.1);
  summary.best_geomean = GeometricMean(against_best);
  summary.best_p10 = Quantile(against_best, 0.1);
  summary.best_min = Quantile(against_best, 0);
  return summary;
}

Json VendorBaselinesJson(
    const std::vector<VendorBaselineLatency>& vendor_baselines) {
  Json json = Json::array();
  for (const VendorBaselineLatency& baseline : vendor_baselines) {
    json.push_back(
        Json{{"library", baseline.library},
             {"latency_us", baseline.latency_us > 0 ? Json(baseline.latency_us)
                                                    : Json(nullptr)},
             {"relative_spread", baseline.relative_spread},
             {"throttled", baseline.throttled},
             {"failure", baseline.failure}});
  }
  return json;
}

Json VendorBaselineSummariesJson(
    const std::vector<VendorBaselineSummary>& summaries) {
  Json json = Json::array();
  for (const VendorBaselineSummary& baseline : summaries) {
    json.push_back(Json{{"library", baseline.library},
                        {"shapes", baseline.lines},
                        {"failed", baseline.failed},
                        {"best_speed_up_geomean", baseline.best_geomean},
                        {"best_speed_up_p10", baseline.best_p10},
                        {"best_speed_up_min", baseline.best_min},
                        {"chosen_speed_up_geomean", baseline.chosen_geomean},
                        {"chosen_speed_up_p10", baseline.chosen_p10},
                        {"text", VendorBaselineLine(baseline)}});
  }
  return json;
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
  const auto saw = [&line](int32_t mhz, bool throttled) {
    if (mhz > 0 && (line.sm_clock_mhz == 0 || mhz < line.sm_clock_mhz))
      line.sm_clock_mhz = mhz;
    line.throttled |= throttled;
  };
  for (const v1::MeasuredVendorBaseline& baseline : result.vendor_baselines()) {
    line.vendor_baselines.push_back(
        {.library = baseline.library(),
         .latency_us = baseline.latency_us(),
         .relative_spread = baseline.relative_spread(),
         .throttled = baseline.throttled(),
         .failure = baseline.failure()});
    saw(baseline.sm_clock_mhz(), baseline.throttled());
  }
  for (const v1::MeasuredConfiguration* measured :
       {&result.chosen(), &result.default_configuration(), &result.best()}) {
    saw(measured->sm_clock_mhz(), measured->throttled());
  }
  line.source = result.source();
  line.predicted_us = result.predicted_us();
  line.relative_bound = result.relative_bound();
  line.held_out_fraction = result.held_out_fraction();
  line.candidates = result.all_size();
  line.remeasured = static_cast<int>(std::count_if(
      result.all().begin(), result.all().end(),
      [](const v1::MeasuredConfiguration& c) { return c.remeasured(); }));
  line.missing = result.failed_size();
  if (line.missing > 0) {
    const v1::FailedConfiguration& first = result.failed(0);
    ASSIGN_OR_RETURN(const Configuration configuration,
                     ConfigurationFromProto(parameters, first.configuration()));
    line.first_missing =
        absl::StrCat(FormatConfiguration(spec, configuration), " at ",
                     FormatProblem(spec.dimensions, line.shape.problem), ": ",
                     first.reason());
  }
  return line;
}

BenchSummary Summarise(const std::vector<BenchLine>& lines) {
  std::vector<double> fractions;
  std::vector<double> held_out;
  std::vector<double> speed_ups;
  std::vector<double> default_fractions;
  BenchSummary summary;
  int inside = 0;
  for (const BenchLine& line : lines) {
    summary.throttled += line.throttled ? 1 : 0;
    summary.missing += line.missing;
    summary.missing_lines += line.missing > 0 ? 1 : 0;
    if (summary.first_missing.empty())
      summary.first_missing = line.first_missing;
    if (line.FractionOfBest() > 0) fractions.push_back(line.FractionOfBest());
    if (line.held_out_fraction > 0) held_out.push_back(line.held_out_fraction);
    if (line.SpeedUp() > 0) {
      speed_ups.push_back(line.SpeedUp());
      summary.slower_than_default += line.SpeedUp() < kSlower ? 1 : 0;
    }
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
  summary.held_out = static_cast<int>(held_out.size());
  summary.held_out_geomean = GeometricMean(held_out);
  summary.held_out_p5 = Quantile(held_out, 0.05);
  summary.held_out_min = Quantile(held_out, 0);
  summary.speed_up_geomean = GeometricMean(speed_ups);
  summary.speed_up_min = Quantile(speed_ups, 0);
  summary.default_fraction_geomean = GeometricMean(default_fractions);
  if (summary.predicted > 0)
    summary.within_bound = static_cast<double>(inside) / summary.predicted;
  for (const std::string& library : Libraries(lines))
    summary.vendor_baselines.push_back(SummariseVendorBaseline(lines, library));
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
  if (summary.held_out > 0)
    absl::StrAppend(&text, "; ", FormatPercent(summary.held_out_geomean),
                    " of a best judged in rounds that did not pick it (5th "
                    "percentile ",
                    FormatPercent(summary.held_out_p5), ", worst ",
                    FormatPercent(summary.held_out_min), ")");
  if (summary.compared_with_default > 0)
    absl::StrAppendFormat(&text,
                          "; chosen is %.3fx as fast as the default (geometric "
                          "mean; worst %.3fx)",
                          summary.speed_up_geomean, summary.speed_up_min);
  if (summary.predicted > 0)
    absl::StrAppend(&text, "; ", FormatPercent(summary.within_bound),
                    " of the latencies within their error bounds");
  if (summary.missing > 0)
    absl::StrAppend(&text, "; ", summary.missing,
                    summary.missing == 1 ? " pair" : " pairs",
                    " of candidate and shape could not be measured, at ",
                    summary.missing_lines,
                    summary.missing_lines == 1 ? " shape" : " shapes",
                    ": the best there is the best of the others; the first: ",
                    summary.first_missing);
  if (summary.throttled > 0)
    absl::StrAppend(&text, "; the device was throttled at ", summary.throttled,
                    " of the shapes: let it cool and measure again");
  return text;
}

std::string AdviceOnDefault(const BenchSummary& summary) {
  const int slower = summary.slower_than_default;
  if (slower == 0 || (summary.speed_up_geomean >= 1 &&
                      2 * slower <= summary.compared_with_default)) {
    return "";
  }
  return absl::StrCat(
      "slower than the default at ", slower, " of ",
      summary.compared_with_default,
      ": name such problems in the manifest (representative_problems) and "
      "profile again; until then `wavetune tables retire "
      "--although-it-serves` has the default decide");
}

std::string VendorBaselineLine(const VendorBaselineSummary& summary) {
  std::string text = absl::StrCat(summary.library, " at ", summary.lines,
                                  summary.lines == 1 ? " shape" : " shapes");
  const char* separator = ": ";
  if (summary.best_geomean > 0) {
    absl::StrAppendFormat(
        &text,
        "%sthe best is %.3fx as fast (geometric mean; 10th percentile %.3fx, "
        "worst %.3fx)",
        separator, summary.best_geomean, summary.best_p10, summary.best_min);
    separator = "; ";
  }
  if (summary.chosen_geomean > 0) {
    absl::StrAppendFormat(
        &text, "%schosen is %.3fx as fast (10th percentile %.3fx)", separator,
        summary.chosen_geomean, summary.chosen_p10);
    separator = "; ";
  }
  if (summary.failed > 0) {
    absl::StrAppend(&text, separator, "failed at ", summary.failed, ": ",
                    summary.failure);
  }
  return text;
}

void PrintBench(Output& out, const KernelSpec& spec,
                const std::vector<BenchLine>& lines) {
  out << "configurations are " << ValueNames(spec) << "\n";
  std::vector<std::string> headings = {"",
                                       "PROBLEM",
                                       "CHOSEN",
                                       "SOURCE",
                                       "PREDICTED us",
                                       "CHOSEN us",
                                       "DEFAULT us",
                                       "BEST us",
                                       "REGRET",
                                       "OF BEST",
                                       "VS DEFAULT",
                                       "MHz",
                                       "BEST CONFIGURATION"};
  const bool any_missing = Summarise(lines).missing > 0;
  if (any_missing) headings.push_back("MISSING");
  const std::vector<std::string> libraries = Libraries(lines);
  for (const std::string& library : libraries)
    headings.push_back(absl::StrCat(library, " us"));
  TextTable table(headings);
  for (const BenchLine& line : lines) {
    const double fraction = line.FractionOfBest();
    std::vector<std::string> row = {
        line.shape.label,
        FormatProblem(spec.dimensions, line.shape.problem),
        line.chosen_us > 0 ? ValuesText(line.chosen) : "-",
        SourceName(line.source),
        LatencyOrDash(line.predicted_us),
        LatencyOrDash(line.chosen_us),
        LatencyOrDash(line.default_us),
        LatencyOrDash(line.best_us),
        fraction > 0 ? FormatPercent(1 / fraction - 1) : "-",
        PercentOrDash(fraction),
        line.SpeedUp() > 0 ? absl::StrFormat("%.2fx", line.SpeedUp()) : "-",
        ClockText(line),
        line.best_us > 0 ? ValuesText(line.best) : "-"};
    if (any_missing) row.push_back(absl::StrCat(line.missing));
    for (const std::string& library : libraries)
      row.push_back(LatencyOrDash(LatencyOf(line, library)));
    table.AddRow(row);
  }
  table.Print(out);
  const BenchSummary summary = Summarise(lines);
  out << "\n" << SummaryLine(summary) << "\n";
  if (const std::string advice = AdviceOnDefault(summary); !advice.empty())
    out << advice << "\n";
  for (const VendorBaselineSummary& baseline : summary.vendor_baselines)
    out << VendorBaselineLine(baseline) << "\n";
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
        {"held_out_fraction", line.held_out_fraction > 0
                                  ? Json(line.held_out_fraction)
                                  : Json(nullptr)},
        {"speed_up_over_default",
         line.SpeedUp() > 0 ? Json(line.SpeedUp()) : Json(nullptr)},
        {"sm_clock_mhz", line.sm_clock_mhz},
        {"throttled", line.throttled},
        {"candidates_measured", line.candidates},
        {"candidates_remeasured", line.remeasured},
        {"candidates_missing", line.missing},
        {"first_missing", line.first_missing},
        {"peers", VendorBaselinesJson(line.vendor_baselines)}});
  }
  const BenchSummary summary = Summarise(lines);
  return Json{
      {"kernel", spec.name},
      {"shapes", std::move(shapes)},
      {"summary",
       {{"shapes", summary.lines},
        {"compared_with_best", summary.compared_with_best},
        {"oracle_fraction_geomean", summary.fraction_geomean},
        {"oracle_fraction_p5", summary.fraction_p5},
        {"oracle_fraction_min", summary.fraction_min},
        {"held_out", summary.held_out},
        {"held_out_fraction_geomean", summary.held_out_geomean},
        {"held_out_fraction_p5", summary.held_out_p5},
        {"held_out_fraction_min", summary.held_out_min},
        {"default_fraction_geomean", summary.default_fraction_geomean},
        {"speed_up_over_default_geomean", summary.speed_up_geomean},
        {"speed_up_over_default_min", summary.speed_up_min},
        {"slower_than_default", summary.slower_than_default},
        {"within_bound", summary.within_bound},
        {"peers", VendorBaselineSummariesJson(summary.vendor_baselines)},
        {"throttled", summary.throttled},
        {"missing_pairs", summary.missing},
        {"shapes_with_missing_pairs", summary.missing_lines},
        {"first_missing", summary.first_missing},
        {"text", SummaryLine(summary)}}}};
}

}  // namespace wavetune::cli
