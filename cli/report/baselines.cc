#include "cli/report/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/csv_text.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/statistics.h"
#include "formats/kernel_folder.h"
#include "model/kernel/configuration_text.h"

namespace wavetune::cli {
namespace {

absl::Status FaultsOf(const Baseline& baseline,
                      const std::vector<std::string>& faults) {
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("baseline \"", baseline.name,
                                                 "\", ", baseline.path, ":\n  ",
                                                 JoinFaults(faults, "\n  ")));
}

std::string AtLine(const DecisionLine& decision, absl::string_view fault) {
  return absl::StrCat("line ", decision.line, ": ", fault);
}

// What a configuration may be at a problem of its specialisation.
using Known = std::set<std::pair<std::string, Configuration>>;

Known UsableCandidates(const ReportInput& input) {
  Known known;
  for (const TraceCandidate& listed : input.candidates) {
    if (!listed.candidate.excluded())
      known.emplace(listed.specialisation, listed.candidate.configuration);
  }
  return known;
}

absl::StatusOr<Baseline> ReadBaseline(const BaselineFile& file,
                                      const Table& table, const Known& known) {
  Baseline baseline{.name = file.name, .path = file.path, .decisions = {}};
  ASSIGN_OR_RETURN(const std::string csv, ReadNamedTextFile(file.path));
  absl::StatusOr<std::vector<DecisionLine>> decisions =
      ParseDecisions(table, csv);
  if (!decisions.ok())
    return FaultsOf(baseline, {std::string(decisions.status().message())});
  std::vector<std::string> faults;
  for (const DecisionLine& decision : *decisions) {
    if (!known.contains(
            {decision.problem.specialisation, decision.configuration}))
      faults.push_back(AtLine(
          decision, absl::StrCat(FormatConfiguration(table.parameters,
                                                     decision.configuration),
                                 " is no candidate that was measured; name "
                                 "one of the recorded candidates")));
  }
  RETURN_IF_ERROR(FaultsOf(baseline, faults));
  baseline.decisions = *std::move(decisions);
  return baseline;
}

}  // namespace

absl::StatusOr<std::vector<BaselineFile>> ParseBaselineArguments(
    const std::vector<std::string>& arguments) {
  std::set<std::string> names = {kChosenByTable, kBestSingleConfiguration,
                                 kDefaultConfiguration};
  std::vector<BaselineFile> files;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == argument.size())
      return absl::InvalidArgumentError(absl::StrCat(
          "--baseline \"", argument,
          "\" is not of the form NAME=FILE, for example \"decision "
          "tree=tree.csv\""));
    BaselineFile file{.name = argument.substr(0, equals),
                      .path = argument.substr(equals + 1)};
    if (!names.insert(file.name).second)
      return absl::InvalidArgumentError(absl::StrCat(
          "there are two methods \"", file.name, "\" (the report shows \"",
          kChosenByTable, "\", \"", kBestSingleConfiguration, "\" and \"",
          kDefaultConfiguration,
          "\" by itself); give each --baseline a name of its own"));
    files.push_back(std::move(file));
  }
  return files;
}

absl::StatusOr<std::vector<Baseline>> ReadBaselines(
    const std::vector<BaselineFile>& files, const ReportInput& input) {
  const Known known = UsableCandidates(input);
  std::vector<Baseline> baselines;
  for (const BaselineFile& file : files) {
    ASSIGN_OR_RETURN(Baseline baseline,
                     ReadBaseline(file, input.table->table(), known));
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

namespace {

// Every candidate's latency at one problem, and the best of them.
struct Tuned {
  MeasuredLatencies latencies;
  Configuration best;
};
using TunedProblems = std::map<Problem, Tuned>;

TunedProblems TunedAt(const std::vector<Sample>& samples, size_t least) {
  TunedProblems problems;
  for (const Sample& sample : samples) {
    if (!(sample.latency_us > 0)) continue;
    MeasuredLatencies& latencies = problems[sample.problem].latencies;
    const auto [it, inserted] =
        latencies.emplace(sample.configuration, sample.latency_us);
    if (!inserted) it->second = std::min(it->second, sample.latency_us);
  }
  std::erase_if(problems, [&](const auto& problem) {
    return problem.second.latencies.size() < least;
  });
  for (auto& [problem, tuned] : problems) {
    tuned.best =
        std::min_element(
            tuned.latencies.begin(), tuned.latencies.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
  }
  return problems;
}

// In octaves, squared.
double Distance(const Problem& a, const Problem& b) {
  double distance = 0;
  for (size_t i = 0; i < std::min(a.extents.size(), b.extents.size()); ++i) {
    const double octaves = std::log2(static_cast<double>(a.extents[i]) /
                                     static_cast<double>(b.extents[i]));
    distance += octaves * octaves;
  }
  return distance;
}

// 0 where no tuned problem's best can run.
double NearestLatency(const Problem& problem, const Tuned& at,
                      const TunedProblems& tuned) {
  double least = std::numeric_limits<double>::infinity();
  double latency_us = 0;
  for (const auto& [other, found] : tuned) {
    if (other.specialisation != problem.specialisation) continue;
    const auto there = at.latencies.find(found.best);
    const double distance = Distance(problem, other);
    if (there == at.latencies.end() || distance >= least) continue;
    least = distance;
    latency_us = there->second;
  }
  return latency_us;
}

bool SameLayer(const Problem& a, const Problem& b) {
  return a.specialisation == b.specialisation && a.extents.size() > 1 &&
         std::equal(a.extents.begin() + 1, a.extents.end(),
                    b.extents.begin() + 1, b.extents.end());
}

// Each of `firsts` counts that `is_first` may be and whose best can run.
double MeanLatency(const Problem& problem, const Tuned& at,
                   const TunedProblems& firsts,
                   bool (*is_first)(const Problem&, const Problem&)) {
  std::vector<double> latencies;
  for (const auto& [first, found] : firsts) {
    if (!is_first(problem, first)) continue;
    const auto there = at.latencies.find(found.best);
    if (there != at.latencies.end()) latencies.push_back(there->second);
  }
  return GeometricMean(latencies);
}

bool SameSpecialisation(const Problem& a, const Problem& b) {
  return a.specialisation == b.specialisation;
}

}  // namespace

std::vector<Baseline> TunedRules(const ReportInput& input) {
  const size_t least = input.candidates.size() / 2 + 1;
  const TunedProblems judged = TunedAt(input.judged, 1);
  std::vector<Sample> others = input.fitted;
  others.insert(others.end(), input.held_out.begin(), input.held_out.end());
  const TunedProblems tuned = TunedAt(others, least);
  std::vector<Baseline> rules(3);
  rules[0].name = "nearest tuned shape (engines' JSON files)";
  rules[1].name =
      absl::StrCat("first shape of a layer (@triton.autotune, no ",
                   input.table->table().dimensions[0].name, " in its key)");
  rules[2].name = "first shape (@triton.autotune without a key)";
  for (const auto& [problem, at] : judged) {
    rules[0].latencies_us[problem] = NearestLatency(problem, at, tuned);
    rules[1].latencies_us[problem] =
        MeanLatency(problem, at, judged, SameLayer);
    rules[2].latencies_us[problem] =
        MeanLatency(problem, at, judged, SameSpecialisation);
  }
  return rules;
}

absl::StatusOr<std::vector<double>> BaselineLatencies(
    const Baseline& baseline, const Table& table,
    const std::string& specialisation,
    const std::vector<JudgedLatencies>& judged) {
  std::map<Problem, size_t> numbers;
  for (size_t i = 0; i < judged.size(); ++i)
    numbers.emplace(*judged[i].problem, i);
  std::vector<double> latencies(judged.size(), 0);
  if (!baseline.latencies_us.empty()) {
    for (size_t i = 0; i < judged.size(); ++i) {
      const auto found = baseline.latencies_us.find(*judged[i].problem);
      if (found != baseline.latencies_us.end()) latencies[i] = found->second;
    }
    return latencies;
  }
  std::vector<std::string> faults;
  for (const DecisionLine& decision : baseline.decisions) {
    if (decision.problem.specialisation != specialisation) continue;
    const std::string problem =
        FormatProblem(table.dimensions, decision.problem);
    const auto number = numbers.find(decision.problem);
    if (number == numbers.end()) {
      faults.push_back(AtLine(
          decision, absl::StrCat(problem,
                                 " is not judged in this report; drop the "
                                 "line")));
      continue;
    }
    const MeasuredLatencies& measured = *judged[number->second].latencies;
    const auto found = measured.find(decision.configuration);
    if (found != measured.end()) {
      latencies[number->second] = found->second;
    } else {
      faults.push_back(AtLine(
          decision,
          absl::StrCat(
              FormatConfiguration(table.parameters, decision.configuration),
              " was not measured at ", problem,
              "; name what would run there, such as the default")));
    }
    numbers.erase(number);
  }
  for (const auto& [problem, number] : numbers)
    faults.push_back(absl::StrCat("there is no decision at ",
                                  FormatProblem(table.dimensions, problem),
                                  ", which is judged; add a line"));
  RETURN_IF_ERROR(FaultsOf(baseline, faults));
  return latencies;
}

}  // namespace wavetune::cli
