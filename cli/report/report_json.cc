#include "cli/report/report_json.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/report/judged_problems.h"
#include "cli/report/placed_samples.h"
#include "cli/report/step_curves.h"

namespace wavetune::cli {
namespace {

double Rounded(double value) {
  double rounded = value;
  // Fails for nothing that StrFormat writes.
  (void)absl::SimpleAtod(absl::StrFormat("%.5g", value), &rounded);
  return rounded;
}

std::vector<int64_t> Values(const Configuration& configuration) {
  std::vector<int64_t> values;
  for (int i = 0; i < configuration.size(); ++i)
    values.push_back(configuration[i]);
  return values;
}

std::vector<Problem> Problems(const std::vector<Problem>& problems,
                              const std::string& specialisation) {
  std::vector<Problem> result;
  for (const Problem& problem : problems) {
    if (problem.specialisation == specialisation) result.push_back(problem);
  }
  return result;
}

const char* KindName(JudgedMethod::Kind kind) {
  switch (kind) {
    case JudgedMethod::Kind::kTable:
      return "table";
    case JudgedMethod::Kind::kBestSingle:
      return "single";
    case JudgedMethod::Kind::kDefault:
      return "default";
    case JudgedMethod::Kind::kBaseline:
      return "baseline";
  }
  return "";
}

// One specialisation's part.
class SubReport {
 public:
  SubReport(const ReportInput& input, const SubTable& sub,
            JudgedProblems judged)
      : sub_(sub),
        table_(*input.table),
        grid_(PlaceSamples(input, sub)),
        judged_(std::move(judged)),
        representative_(Problems(input.representative, sub.specialisation)) {}

  absl::StatusOr<Json> Build(const MapOptions& options) {
    Json json{{"name", sub_.specialisation}};
    AddCandidates(json);
    json["form"] = sub_.form == WaveForm::kSum ? "sum" : "overlap";
    json["row_regimes"] = Json::array();
    for (const RowRegime& regime : sub_.row_regimes)
      json["row_regimes"].push_back(FormatRowRegime(regime));
    json["steps"] = Json::array();
    for (const StepCurve& curve : StepCurves(sub_, grid_))
      json["steps"].push_back(CurveJson(curve));
    ASSIGN_OR_RETURN(json["maps"], MapsJson(options));
    json["samples"] = SamplesJson();
    json["judged"] = JudgedJson();
    json["problems"] = problems_;
    return json;
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    const auto note = [&](int count, const char* text) {
      if (count > 0) notes.push_back(absl::StrCat(count, text));
    };
    note(grid_.dropped,
         " samples are of excluded or unknown candidates and are not shown.");
    note(judged_.choice_missing,
         " problems are not judged: the choice was not measured there.");
    note(judged_.known,
         " problems are not judged: they were fitted, or are representative.");
    if (judged_.choices.empty())
      note(judged_.too_few,
           " problems are not judged: fewer than half of their candidates were "
           "measured there.");
    return notes;
  }

 private:
  int ProblemIndex(const Problem& problem) {
    const auto [it, inserted] =
        problem_indices_.try_emplace(problem, problems_.size());
    if (inserted)
      problems_.push_back(FormatProblem(table_.table().dimensions, problem));
    return static_cast<int>(it->second);
  }

  void AddCandidates(Json& json) const {
    json["portfolio"] = sub_.portfolio.size();
    json["candidates"] = Json::array();
    json["default"] = -1;
    for (const Candidate& candidate : grid_.candidates) {
      if (candidate.configuration == table_.table().default_configuration)
        json["default"] = json["candidates"].size();
      json["candidates"].push_back(Values(candidate.configuration));
    }
    std::vector<int> uses(sub_.portfolio.size());
    const int index = table_.SubTableIndex(sub_.specialisation);
    for (const Problem& problem : representative_) {
      const uint8_t chosen = table_.Resolve(index, problem.View()).candidate;
      if (chosen < uses.size()) ++uses[chosen];
    }
    json["facts"] = Json::array();
    for (size_t i = 0; i < sub_.portfolio.size(); ++i) {
      const TableCandidate& member = sub_.portfolio[i];
      json["facts"].push_back(
          {{"capacity", member.tiles_per_wave},
           {"registers", member.registers},
           {"shared_memory_bytes", member.shared_memory_bytes},
           {"uses", uses[i]}});
    }
    json["representative"] = representative_.size();
  }

  Json CurveJson(const StepCurve& curve) {
    Json fit = Json::array();
    for (const FittedPoint& point : curve.fit)
      fit.push_back({point.tiles, Rounded(point.latency_us),
                     Rounded(point.relative_bound), point.extrapolated});
    Json measured = Json::array();
    for (const PlacedSample* sample : curve.measured)
      measured.push_back({sample->at.tiles, Rounded(sample->sample->latency_us),
                          sample->candidate, static_cast<int>(sample->use),
                          ProblemIndex(sample->sample->problem)});
    Json members = Json::array();
    for (int i = 0; i < static_cast<int>(sub_.portfolio.size()); ++i) {
      if (GroupOf(sub_, i) == curve.group) members.push_back(i);
    }
    return {{"row", curve.group},
            {"regime", curve.row_regime},
            {"iterations", Rounded(curve.iterations)},
            {"capacity", curve.tiles_per_wave},
            {"members", std::move(members)},
            {"fit", std::move(fit)},
            {"measured", std::move(measured)}};
  }

  // What people ask for, as far as anybody knows.
  std::vector<Problem> Typical() const {
    std::vector<Problem> typical = representative_;
    for (const JudgedChoice& choice : judged_.choices)
      typical.push_back(choice.problem);
    if (!typical.empty()) return typical;
    for (const PlacedSample& sample : grid_.samples)
      typical.push_back(sample.sample->problem);
    return typical;
  }

  absl::StatusOr<Json> MapsJson(const MapOptions& options) const {
    Json json = Json::array();
    const std::vector<Problem> typical = Typical();
    if (typical.empty()) return json;
    ASSIGN_OR_RETURN(
        const std::vector<ConfigurationMap> maps,
        ConfigurationMaps(table_, table_.SubTableIndex(sub_.specialisation),
                          typical, options));
    for (const ConfigurationMap& map : maps) json.push_back(MapJson(map));
    return json;
  }

  Json MapJson(const ConfigurationMap& map) const {
    const auto axis = [](const MapAxis& a) {
      return Json{{"name", a.repeated ? "each " + a.dimension : a.dimension},
                  {"extents", a.extents}};
    };
    Json candidates = Json::array();
    Json latencies = Json::array();
    Json outside = Json::array();
    for (const MapCell& cell : map.cells) {
      candidates.push_back(cell.candidate);
      latencies.push_back(Rounded(cell.latency_us));
      outside.push_back(cell.extrapolated ? 1 : 0);
    }
    return {{"x", axis(map.x)},           {"y", axis(map.y)},
            {"fixed", FixedText(map)},    {"candidates", std::move(candidates)},
            {"us", std::move(latencies)}, {"outside", std::move(outside)}};
  }

  // "k=4096"; the axes are left out.
  std::string FixedText(const ConfigurationMap& map) const {
    std::vector<Dimension> dimensions;
    Problem problem{.repeated = map.fixed.repeated};
    for (size_t i = 0; i < table_.table().dimensions.size(); ++i) {
      const Dimension& dimension = table_.table().dimensions[i];
      if (dimension.name == map.x.dimension ||
          dimension.name == map.y.dimension)
        continue;
      dimensions.push_back(dimension);
      problem.extents.push_back(map.fixed.extents[i]);
    }
    return FormatProblem(dimensions, problem);
  }

  Json SamplesJson() {
    Json json;
    for (const char* name : {"candidate", "use", "regime", "waves",
                             "iterations", "us", "residual", "problem"})
      json[name] = Json::array();
    for (const PlacedSample& placed : grid_.samples) {
      const auto candidate = static_cast<size_t>(placed.candidate);
      json["candidate"].push_back(placed.candidate);
      json["use"].push_back(static_cast<int>(placed.use));
      json["regime"].push_back(placed.row_regime);
      json["waves"].push_back(
          Rounded(static_cast<double>(placed.at.tiles) /
                  static_cast<double>(std::max<int64_t>(
                      1, grid_.candidates[candidate].tiles_per_wave))));
      json["iterations"].push_back(Rounded(placed.at.iterations));
      json["us"].push_back(Rounded(placed.sample->latency_us));
      json["residual"].push_back(
          placed.residual ? Json(Rounded(*placed.residual)) : Json(nullptr));
      json["problem"].push_back(ProblemIndex(placed.sample->problem));
    }
    return json;
  }

  Json JudgedJson() {
    Json json{{"problems", Json::array()}, {"methods", Json::array()}};
    for (const JudgedChoice& choice : judged_.choices)
      json["problems"].push_back(
          {{"problem", ProblemIndex(choice.problem)},
           {"chosen", Values(choice.decision.configuration)},
           {"chosen_us", Rounded(choice.chosen_us)},
           {"predicted_us", Rounded(choice.decision.latency_us)},
           {"bound", Rounded(choice.decision.relative_bound)},
           {"source", std::string(ToString(choice.decision.source))},
           {"best", Values(choice.best)},
           {"best_us", Rounded(choice.best_us)},
           {"measured", choice.measured}});
    for (const JudgedMethod& method : judged_.methods)
      json["methods"].push_back(MethodJson(method));
    json["best_single"] =
        judged_.best_single ? Json(Values(*judged_.best_single)) : Json();
    return json;
  }

  static Json MethodJson(const JudgedMethod& method) {
    Json latencies = Json::array();
    for (const double us : method.latencies_us)
      latencies.push_back(Rounded(us));
    return {{"name", method.name},
            {"kind", KindName(method.kind)},
            {"us", std::move(latencies)},
            {"problems", method.problems},
            {"geomean", Rounded(method.geomean)},
            {"p5", Rounded(method.p5)},
            {"worst", Rounded(method.worst)}};
  }

  const SubTable& sub_;
  const CompiledTable& table_;
  const SampleGrid grid_;
  const JudgedProblems judged_;
  const std::vector<Problem> representative_;
  std::map<Problem, size_t> problem_indices_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<Json> ReportJson(const ReportInput& input,
                                const MapOptions& options) {
  const Table& table = input.table->table();
  Json json{
      {"kernel", table.kernel},
      {"device", input.device},
      {"source", input.source},
      {"created", input.created},
      {"digest", input.table->digest()},
      {"fingerprint", table.fingerprint},
      {"silicon", table.silicon_key},
      {"environment", table.environment_key},
      {"table_bytes", input.table->payload().size()},
      {"samples_fitted", input.fitted.size()},
      {"parameters", table.parameters},
      {"uses_of_samples",
       {"fitted, anchor", "fitted, representative", "held out", "judged"}},
      {"notes", input.notes},
      {"specialisations", Json::array()}};
  if (input.fitted.empty())
    json["notes"].push_back(
        "Nothing is stored of what this table was fitted from: the steps are "
        "shown without measurements.");
  for (const SubTable& sub : table.sub_tables) {
    ASSIGN_OR_RETURN(JudgedProblems judged, JudgeProblems(input, sub));
    SubReport report(input, sub, std::move(judged));
    ASSIGN_OR_RETURN(Json part, report.Build(options));
    json["specialisations"].push_back(std::move(part));
    for (const std::string& note : report.Notes())
      json["notes"].push_back(
          sub.specialisation.empty() ? note : sub.specialisation + ": " + note);
  }
  return json;
}

}  // namespace wavetune::cli
