#include "cli/report/baselines.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/csv_text.h"
#include "base/status_macros.h"
#include "cli/format.h"
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

absl::StatusOr<std::vector<double>> BaselineLatencies(
    const Baseline& baseline, const Table& table,
    const std::string& specialisation,
    const std::vector<JudgedLatencies>& judged) {
  std::map<Problem, size_t> numbers;
  for (size_t i = 0; i < judged.size(); ++i)
    numbers.emplace(*judged[i].problem, i);
  std::vector<double> latencies(judged.size(), 0);
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
