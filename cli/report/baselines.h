// Baselines of a report: what other selectors would have chosen, from files.
//
//   ASSIGN_OR_RETURN(const std::vector<BaselineFile> files,
//                    ParseBaselineArguments({"decision tree=tree.csv"}));
//   ASSIGN_OR_RETURN(input.baselines, ReadBaselines(files, input));
//
// Thread safety: pure functions but for the file system.
#ifndef WAVETUNE_CLI_REPORT_BASELINES_H_
#define WAVETUNE_CLI_REPORT_BASELINES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/report_input.h"

namespace wavetune::cli {

// Names of what every report shows.
inline constexpr char kChosenByTable[] = "chosen by the table";
inline constexpr char kBestSingleConfiguration[] = "best single configuration";
inline constexpr char kDefaultConfiguration[] = "default configuration";

// Least latency by configuration, microseconds, at one problem.
using MeasuredLatencies = std::map<Configuration, double>;

struct BaselineFile {
  std::string name;
  std::string path;
};

// Splits arguments of the form NAME=FILE. Errors: INVALID_ARGUMENT for another
// form, a name given twice and the names above.
absl::StatusOr<std::vector<BaselineFile>> ParseBaselineArguments(
    const std::vector<std::string>& arguments);

// Reads the decisions of all files for the table of `input`. Errors: as
// ReadNamedTextFile and ParseDecisions, with the file; INVALID_ARGUMENT with
// file and line for a configuration that is none of `input.candidates` or
// excluded.
absl::StatusOr<std::vector<Baseline>> ReadBaselines(
    const std::vector<BaselineFile>& files, const ReportInput& input);

// Returns other ways to tune, by the same measurements. All tune with every
// candidate: engines' files at the representative problems, of which the
// nearest counts; @triton.autotune at the first problem of each layer, or at
// the first of all. Of the last two each problem may be the first: the
// geometric mean counts. Problems of a layer differ in the first dimension
// alone. Cannot fail.
std::vector<Baseline> TunedRules(const ReportInput& input);

struct JudgedLatencies {
  const Problem* problem = nullptr;
  const MeasuredLatencies* latencies = nullptr;
};

// Returns the latency of the baseline's choice at each of the judged problems,
// which are all those of `specialisation`. Errors: INVALID_ARGUMENT with the
// file, and the line where there is one. The faults are a judged problem
// without a decision, and a decision at a problem that is not judged, or of a
// configuration that was not measured there.
absl::StatusOr<std::vector<double>> BaselineLatencies(
    const Baseline& baseline, const Table& table,
    const std::string& specialisation,
    const std::vector<JudgedLatencies>& judged);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_BASELINES_H_
