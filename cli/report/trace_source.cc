// ReportFromTrace.
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/evaluate/trace_fit.h"
#include "cli/report/report_source.h"
#include "formats/trace_folder.h"

namespace wavetune::cli {
namespace {

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

}  // namespace

absl::StatusOr<ReportInput> ReportFromTrace(const TraceReportOptions& options) {
  ASSIGN_OR_RETURN(TraceFolder trace, LoadTraceFolder(options.folder));
  ASSIGN_OR_RETURN(
      TraceFit fit,
      FitTrace(trace, {.from = options.all_anchors ? TraceSamples::kAnchors
                                                   : TraceSamples::kPlanned,
                       .profile = options.profile,
                       .progress = options.progress}));
  ReportInput report;
  report.table = std::move(fit.table);
  report.device = absl::StrCat(trace.device.label, " ", trace.device.uuid);
  report.source = absl::StrCat("recorded trace ", options.folder);
  report.held_out =
      Without(FittableSamples(trace, TraceSamples::kAnchorsAndRepresentative),
              fit.samples);
  report.candidates = std::move(trace.candidates);
  report.fitted = std::move(fit.samples);
  report.judged = std::move(trace.exhaustive);
  report.kernel = trace.spec;
  report.representative = RepresentativeProblems(trace.spec);
  KeepApart(report);
  report.notes = std::move(fit.report.notes);
  return report;
}

}  // namespace wavetune::cli
