// ReportFromTrace.
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/report/report_source.h"
#include "client/cli/trace_profile.h"
#include "model/digest.h"
#include "model/status_macros.h"
#include "model/table_codec.h"
#include "proto/convert/trace_folder.h"

namespace wavetune::cli {
namespace {

std::vector<Problem> ProblemsOf(const std::vector<WeightedProblem>& weighted) {
  std::vector<Problem> problems;
  for (const WeightedProblem& one : weighted) problems.push_back(one.problem);
  return problems;
}

// What was recorded and not fitted.
std::vector<Sample> Without(const std::vector<Sample>& recorded,
                            const std::vector<Sample>& fitted) {
  std::set<std::pair<Configuration, Problem>> known;
  for (const Sample& sample : fitted)
    known.emplace(sample.configuration, sample.problem);
  std::vector<Sample> rest;
  for (const Sample& sample : recorded) {
    if (!known.contains({sample.configuration, sample.problem}))
      rest.push_back(sample);
  }
  return rest;
}

// What the table is fitted from, and a remark where that is not what it should
// be.
std::pair<std::vector<Sample>, std::string> SamplesToFit(
    const ProfileInput& input, const std::vector<Sample>& anchors,
    const std::vector<Sample>& recorded, bool all_anchors) {
  if (all_anchors) return {anchors, ""};
  TraceProfile profile = ProfileFromTrace(input, recorded);
  if (profile.missing.empty()) return {std::move(profile.samples), ""};
  return {std::move(profile.samples),
          absl::StrCat(profile.missing.size(),
                       " planned samples were not recorded: the planner or "
                       "the manifest has changed since; record the kernel "
                       "again, or fit every anchor with --all-anchors")};
}

}  // namespace

absl::StatusOr<ReportInput> ReportFromTrace(const TraceReportOptions& options) {
  ASSIGN_OR_RETURN(TraceFolder trace, LoadTraceFolder(options.folder));
  if (trace.anchors.empty())
    return absl::NotFoundError(absl::StrCat(
        options.folder,
        " has no measurements in anchors.csv.gz: record the kernel again"));
  std::vector<Sample> recorded = trace.anchors;
  recorded.insert(recorded.end(), trace.representative.begin(),
                  trace.representative.end());
  ProfileInput input;
  input.spec = &trace.spec;
  input.fingerprint = Sha256Hex(trace.manifest);
  input.device = trace.device;
  input.candidates = UsableBySpecialisation(trace.spec, trace.candidates);
  input.options = options.profile;
  std::string note;
  std::tie(input.samples, note) =
      SamplesToFit(input, trace.anchors, recorded, options.all_anchors);
  const absl::StatusOr<FitResult> fit = FitTable(input);
  if (!fit.ok())
    return absl::Status(
        fit.status().code(),
        absl::StrCat(fit.status().message(), note.empty() ? "" : "; ", note));
  ASSIGN_OR_RETURN(const std::string payload, EncodeTable(fit->table));

  ReportInput report;
  ASSIGN_OR_RETURN(report.table, CompiledTable::Create(payload));
  report.device = absl::StrCat(trace.device.label, " ", trace.device.uuid);
  report.source = absl::StrCat("recorded trace ", options.folder);
  report.candidates = std::move(trace.candidates);
  report.held_out = Without(recorded, input.samples);
  report.fitted = std::move(input.samples);
  report.judged = std::move(trace.exhaustive);
  report.representative = ProblemsOf(trace.spec.representative_problems);
  report.notes = fit->report.notes;
  if (!note.empty()) report.notes.push_back(note);
  return report;
}

}  // namespace wavetune::cli
