// ReportFromDaemon.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/lookup.h"
#include "cli/report/report_source.h"
#include "cli/workloads.h"
#include "fit/samples/sample_selection.h"
#include "formats/types.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Collects a listing, message by message.
class Listing {
 public:
  explicit Listing(const Table& table) : table_(table) {}

  void Take(const v1::ListSamplesResponse& message) {
    for (const v1::RecordedCandidate& candidate : message.candidates())
      status_.Update(TakeCandidate(candidate));
    for (const v1::Sample& sample : message.profiled())
      status_.Update(TakeSample(sample, [this](Sample&& taken) {
        fitted_.push_back(std::move(taken));
      }));
    for (const v1::Sample& sample : message.measured())
      status_.Update(TakeSample(sample, [this](Sample&& taken) {
        std::vector<Sample>& of_pair =
            measured_[{taken.configuration, taken.problem}];
        of_pair.push_back(std::move(taken));
      }));
  }

  const absl::Status& status() const { return status_; }

  // Moves what was listed into `report`.
  void Finish(ReportInput& report) {
    for (auto& [pair, samples] : measured_)
      report.judged.push_back(MedianSample(std::move(samples)));
    report.fitted = std::move(fitted_);
    report.candidates = std::move(candidates_);
    KeepApart(report);
  }

 private:
  int parameters() const { return static_cast<int>(table_.parameters.size()); }

  absl::Status TakeCandidate(const v1::RecordedCandidate& listed) {
    ASSIGN_OR_RETURN(
        const Configuration configuration,
        ConfigurationFromProto(parameters(), listed.configuration()));
    TraceCandidate& candidate = candidates_.emplace_back();
    candidate.specialisation = listed.specialisation();
    candidate.candidate = CandidateFromProto(configuration, listed.facts());
    candidate.candidate.excluded_reason = listed.excluded_reason();
    return absl::OkStatus();
  }

  template <typename Keep>
  absl::Status TakeSample(const v1::Sample& listed, const Keep& keep) {
    ASSIGN_OR_RETURN(Sample sample,
                     SampleFromProto(table_.dimensions, parameters(), listed));
    keep(std::move(sample));
    return absl::OkStatus();
  }

  const Table& table_;
  absl::Status status_;
  std::vector<TraceCandidate> candidates_;
  std::vector<Sample> fitted_;
  // Of repeated measurements the median counts: the leaders, interleaved.
  std::map<std::pair<Configuration, Problem>, std::vector<Sample>> measured_;
};

// A table outlives the kernel's folder, and an edited manifest may mean
// something else.
std::optional<KernelSpec> KernelOf(Daemon& daemon, const Table& table) {
  const absl::StatusOr<KnownKernel> kernel = FindKernel(daemon, table.kernel);
  if (!kernel.ok() ||
      !std::equal(table.dimensions.begin(), table.dimensions.end(),
                  kernel->spec.dimensions.begin(),
                  kernel->spec.dimensions.end(),
                  [](const Dimension& a, const Dimension& b) {
                    return a.name == b.name && a.repeated == b.repeated;
                  }))
    return std::nullopt;
  return kernel->spec;
}

// A name that is misspelt has no table either, but should not be profiled.
absl::Status BetterError(Daemon& daemon, const v1::GetTableRequest& request,
                         const absl::Status& error) {
  if (!absl::IsNotFound(error) || request.kernel().empty()) return error;
  const absl::StatusOr<KnownKernel> kernel =
      FindKernel(daemon, request.kernel());
  return absl::IsNotFound(kernel.status()) ? kernel.status() : error;
}

// Makes a workload's problems representative ones of the report, and returns
// those that judge.
absl::StatusOr<std::set<Problem>> JudgedBy(Daemon& daemon,
                                           const std::string& name,
                                           ReportInput& report) {
  if (!report.kernel.has_value()) {
    return absl::FailedPreconditionError(
        "--workload needs the kernel as it was profiled, which the daemon has "
        "not any more");
  }
  ASSIGN_OR_RETURN(const KnownWorkload workload, FindWorkload(daemon, name));
  ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                   JudgedShapes(*report.kernel, workload));
  const std::vector<Problem> profiled =
      ProfiledProblems(*report.kernel, workload);
  report.representative.insert(report.representative.end(), profiled.begin(),
                               profiled.end());
  std::set<Problem> judged;
  for (const Shape& shape : shapes) judged.insert(shape.problem);
  return judged;
}

void KeepJudged(const std::set<Problem>& judged, const std::string& workload,
                ReportInput& report) {
  std::erase_if(report.judged, [&](const Sample& sample) {
    return !judged.contains(sample.problem);
  });
  report.notes.push_back(absl::StrCat("Judged are the problems of workload ",
                                      workload, " that wavetune bench ",
                                      report.kernel->name, " --workload ",
                                      workload, " --exhaustive measured."));
}

}  // namespace

absl::StatusOr<ReportInput> ReportFromDaemon(Daemon& daemon,
                                             const v1::GetTableRequest& request,
                                             const std::string& workload) {
  const absl::StatusOr<v1::GetTableResponse> response =
      daemon.Ask<v1::GetTableResponse>(request);
  if (!response.ok()) return BetterError(daemon, request, response.status());
  const v1::TableInfo& info = response->info();
  if (Sha256Hex(response->payload()) != info.digest())
    return absl::DataLossError(
        absl::StrCat("the payload of table ", info.digest(),
                     " does not have its digest; fetch it again"));
  ReportInput report;
  ASSIGN_OR_RETURN(report.table, CompiledTable::Create(response->payload()));
  report.device = absl::StrCat(info.device_label(), " ", info.device_uuid());
  report.source = "the daemon's store";
  const Table& table = report.table->table();
  report.kernel = KernelOf(daemon, table);
  if (report.kernel.has_value())
    report.representative = RepresentativeProblems(*report.kernel);
  std::set<Problem> judged;
  if (!workload.empty()) {
    ASSIGN_OR_RETURN(judged, JudgedBy(daemon, workload, report));
  }
  if (info.stale())
    report.notes.push_back(
        absl::StrCat("The table is stale: ",
                     info.stale_reason().empty()
                         ? "it was measured in another environment, or for "
                           "another version of the kernel"
                         : info.stale_reason(),
                     "."));

  if (!info.withdrawn().empty())
    report.notes.push_back(
        absl::StrCat("The table was withdrawn: ", info.withdrawn(), "."));
  for (const std::string& note : info.notes()) report.notes.push_back(note);

  v1::ListSamplesRequest list;
  list.set_digest(info.digest());
  Listing listing(table);
  const absl::Status listed = daemon.Follow<v1::ListSamplesResponse>(
      list,
      [&](const v1::ListSamplesResponse& message) { listing.Take(message); });
  if (absl::IsUnimplemented(listed))
    return absl::FailedPreconditionError(
        "the daemon is older than this command and does not list samples: "
        "upgrade wavetuned, or report from a trace");
  RETURN_IF_ERROR(listed);
  RETURN_IF_ERROR(listing.status());
  listing.Finish(report);
  if (!workload.empty()) KeepJudged(judged, workload, report);
  return report;
}

}  // namespace wavetune::cli
