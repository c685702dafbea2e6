#include "cli/commands/trace_recorder.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "formats/types.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

std::string Provenance(const std::string& kernel,
                       const v1::Recording& recording) {
  const v1::DeviceFacts& device = recording.device();
  return absl::StrCat(
      kernel, " as `wavetune bench --record` measured it on ",
      absl::FormatTime("%Y-%m-%d", absl::FromUnixMicros(SystemClock().NowUs()),
                       absl::UTCTimeZone()),
      ": ", device.label(), ", driver ", device.driver(), ", ",
      device.runtime(),
      ".\nFingerprint of the kernel: ", recording.fingerprint(),
      ".\nOnly what replaying needs is left of it; docs/traces.md has the "
      "format.");
}

std::vector<Sample> Values(
    const std::map<std::pair<Configuration, Problem>, Sample>& samples,
    const std::set<std::pair<std::string, Configuration>>& usable) {
  std::vector<Sample> values;
  for (const auto& [pair, sample] : samples) {
    if (usable.contains({pair.second.specialisation, pair.first}))
      values.push_back(sample);
  }
  return values;
}

int64_t SizeOf(const std::string& folder) {
  int64_t size = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto bytes = entry.file_size(error);
    if (!error) size += static_cast<int64_t>(bytes);
  }
  return size;
}

}  // namespace

absl::Status RecordedTrace::CheckComplete() const {
  if (missing.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      folder, " is written, but lacks ", missing.size(),
      " pairs that could not be measured, the first: ", missing.front(),
      ". Remove the cause and record again with --replace; what was measured "
      "is not measured again"));
}

absl::StatusOr<std::unique_ptr<TraceRecorder>> TraceRecorder::Open(
    const std::string& folder, bool replace, const KnownKernel& kernel) {
  ASSIGN_OR_RETURN(std::unique_ptr<TraceFolderWriter> writer,
                   TraceFolderWriter::Open(folder, replace));
  return std::unique_ptr<TraceRecorder>(
      new TraceRecorder(folder, kernel, std::move(writer)));
}

void TraceRecorder::Take(const v1::MeasureResponse& event) {
  if (!status_.ok()) return;
  if (event.has_recorded()) {
    status_ = TakeSamples(event.recorded());
  } else if (event.has_recording()) {
    status_ = TakeCandidates(event.recording());
  }
}

absl::Status TraceRecorder::TakeSamples(const v1::RecordedSamples& recorded) {
  const int parameters = static_cast<int>(kernel_.spec.parameters.size());
  for (const v1::Sample& proto : recorded.samples()) {
    ASSIGN_OR_RETURN(Sample sample, SampleFromProto(kernel_.spec.dimensions,
                                                    parameters, proto));
    samples_[recorded.set()].insert_or_assign(
        {sample.configuration, sample.problem}, sample);
  }
  failures_.insert(failures_.end(), recorded.failures().begin(),
                   recorded.failures().end());
  return absl::OkStatus();
}

absl::Status TraceRecorder::TakeCandidates(const v1::Recording& recording) {
  const int parameters = static_cast<int>(kernel_.spec.parameters.size());
  candidates_.clear();
  for (const v1::RecordedCandidate& recorded : recording.candidates()) {
    ASSIGN_OR_RETURN(
        const Configuration configuration,
        ConfigurationFromProto(parameters, recorded.configuration()));
    TraceCandidate& candidate = candidates_.emplace_back();
    candidate.specialisation = recorded.specialisation();
    candidate.candidate = CandidateFromProto(configuration, recorded.facts());
    candidate.candidate.excluded_reason = recorded.excluded_reason();
  }
  recording_ = recording;
  complete_ = true;
  return absl::OkStatus();
}

std::vector<std::string> TraceRecorder::Missing() const {
  std::set<std::pair<std::string, Configuration>> excluded;
  for (const TraceCandidate& candidate : candidates_) {
    if (!candidate.candidate.excluded()) continue;
    excluded.emplace(candidate.specialisation,
                     candidate.candidate.configuration);
  }
  const int parameters = static_cast<int>(kernel_.spec.parameters.size());
  std::vector<std::string> missing;
  for (const v1::RecordedFailure& failure : failures_) {
    const absl::StatusOr<Configuration> configuration =
        ConfigurationFromProto(parameters, failure.configuration());
    const absl::StatusOr<Problem> problem =
        ProblemFromProto(kernel_.spec.dimensions, failure.problem());
    if (!configuration.ok() || !problem.ok() ||
        excluded.contains({problem->specialisation, *configuration})) {
      continue;
    }
    missing.push_back(
        absl::StrCat(FormatConfiguration(kernel_.spec, *configuration), " at ",
                     wavetune::FormatProblem(kernel_.spec, *problem), ": ",
                     failure.reason()));
  }
  return missing;
}

absl::StatusOr<RecordedTrace> TraceRecorder::Commit() {
  RETURN_IF_ERROR(status_);
  if (!complete_) {
    return absl::FailedPreconditionError(
        "the daemon measured, but recorded nothing: it is older than this "
        "command; upgrade it");
  }
  std::set<std::pair<std::string, Configuration>> usable;
  for (const TraceCandidate& candidate : candidates_) {
    if (candidate.candidate.excluded()) continue;
    usable.emplace(candidate.specialisation, candidate.candidate.configuration);
  }
  TraceFolder trace;
  trace.manifest =
      TraceManifest(kernel_.status.spec(), recording_.device().backend(),
                    Provenance(kernel_.spec.name, recording_));
  trace.spec = kernel_.spec;
  trace.device = DeviceFactsFromProto(recording_.device());
  trace.candidates = candidates_;
  trace.anchors = Values(samples_[v1::ANCHORS], usable);
  trace.representative = Values(samples_[v1::REPRESENTATIVE], usable);
  trace.exhaustive = Values(samples_[v1::JUDGED], usable);
  RETURN_IF_ERROR(writer_->Commit(trace));

  RecordedTrace written{.folder = folder_};
  written.candidates = static_cast<int64_t>(usable.size());
  written.excluded =
      static_cast<int64_t>(candidates_.size()) - written.candidates;
  written.anchors = static_cast<int64_t>(trace.anchors.size());
  written.representative = static_cast<int64_t>(trace.representative.size());
  written.judged = static_cast<int64_t>(trace.exhaustive.size());
  written.from_store = recording_.samples_from_store();
  written.size_bytes = SizeOf(folder_);
  written.missing = Missing();
  return written;
}

void PrintRecordedTrace(Output& out, const RecordedTrace& trace) {
  out << "recorded " << trace.folder << ": " << trace.candidates
      << " candidates (" << trace.excluded << " excluded), " << trace.anchors
      << " anchors, " << trace.representative
      << " pairs at representative problems, " << trace.judged
      << " at judged ones, " << FormatBytes(trace.size_bytes);
  if (trace.from_store > 0)
    out << "; " << trace.from_store
        << " were measured by an earlier recording (--fresh measures anew)";
  out << "\n";
}

Json RecordedTraceJson(const RecordedTrace& trace) {
  return Json{{"folder", trace.folder},
              {"candidates", trace.candidates},
              {"excluded", trace.excluded},
              {"anchors", trace.anchors},
              {"representative", trace.representative},
              {"judged", trace.judged},
              {"from_store", trace.from_store},
              {"missing", trace.missing},
              {"size_bytes", trace.size_bytes}};
}

}  // namespace wavetune::cli
