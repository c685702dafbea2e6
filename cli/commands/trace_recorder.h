// TraceRecorder: what a recording measuring job streams, as a trace on disk.
//
//   ASSIGN_OR_RETURN(auto recorder, TraceRecorder::Open(dir, false, kernel));
//   daemon.Follow<v1::MeasureResponse>(
//       request, [&](const auto& event) { recorder->Take(event); });
//   ASSIGN_OR_RETURN(RecordedTrace trace, recorder->Commit());
//
// Thread safety: one thread at a time.
#ifndef WAVETUNE_CLI_COMMANDS_TRACE_RECORDER_H_
#define WAVETUNE_CLI_COMMANDS_TRACE_RECORDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "cli/output.h"
#include "formats/trace_folder.h"
#include "formats/trace_folder_writer.h"
#include "proto/wavetune/v1/admin_service.pb.h"

namespace wavetune::cli {

// A written trace.
struct RecordedTrace {
  std::string folder;
  int64_t candidates = 0;  // That compiled.
  int64_t excluded = 0;
  int64_t anchors = 0;
  int64_t representative = 0;
  int64_t judged = 0;
  int64_t from_store = 0;  // Measured by an earlier recording.
  int64_t size_bytes = 0;
  // Pairs that could not be measured, of candidates that may be used.
  std::vector<std::string> missing;

  // OK if the trace is complete. Errors: ABORTED saying how many pairs are
  // missing, the first of them, and what to do.
  absl::Status CheckComplete() const;
};

class TraceRecorder {
 public:
  // Checks that the trace can be written, before anything is measured. Errors:
  // as TraceFolderWriter::Open.
  static absl::StatusOr<std::unique_ptr<TraceRecorder>> Open(
      const std::string& folder, bool replace, const KnownKernel& kernel);

  // Takes samples and what they belong to; other events are ignored.
  void Take(const v1::MeasureResponse& event);

  // Writes the trace. Errors: those of the recorded samples;
  // FAILED_PRECONDITION where the daemon did not record; as
  // TraceFolderWriter::Commit.
  absl::StatusOr<RecordedTrace> Commit();

 private:
  // The last sample of each pair counts.
  using Samples = std::map<std::pair<Configuration, Problem>, Sample>;

  TraceRecorder(std::string folder, const KnownKernel& kernel,
                std::unique_ptr<TraceFolderWriter> writer)
      : folder_(std::move(folder)),
        kernel_(kernel),
        writer_(std::move(writer)) {}

  absl::Status TakeSamples(const v1::RecordedSamples& recorded);
  absl::Status TakeCandidates(const v1::Recording& recording);
  std::vector<std::string> Missing() const;

  const std::string folder_;
  const KnownKernel kernel_;
  const std::unique_ptr<TraceFolderWriter> writer_;
  std::map<v1::RecordedSet, Samples> samples_;
  std::vector<v1::RecordedFailure> failures_;
  v1::Recording recording_;
  bool complete_ = false;  // The recording came.
  absl::Status status_;    // The samples' so far.
  std::vector<TraceCandidate> candidates_;
};

void PrintRecordedTrace(Output& out, const RecordedTrace& trace);
Json RecordedTraceJson(const RecordedTrace& trace);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_TRACE_RECORDER_H_
