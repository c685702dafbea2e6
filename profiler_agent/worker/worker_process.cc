#include "profiler_agent/worker/worker_process.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "profiler_agent/measure/output_comparison.h"
#include "profiler_agent/worker/frame.h"

namespace wavetune {
namespace {

ReferenceUse UseOf(const v1::WorkerReference& said) {
  if (!said.running()) return ReferenceUse::kNone;
  return said.after_candidates() ? ReferenceUse::kAfterCandidates
                                 : ReferenceUse::kBeforeCandidates;
}

// Lays a crash or a hang at the reference's door, or leaves open whose it is:
// ABORTED is tried again, in a fresh process.
absl::Status Blamed(ReferenceUse use, absl::Status status) {
  if (!absl::IsAborted(status) && !absl::IsDeadlineExceeded(status)) {
    return status;
  }
  switch (use) {
    case ReferenceUse::kNone:
      break;
    case ReferenceUse::kBeforeCandidates:
      return BrokenReference(status);
    case ReferenceUse::kAfterCandidates:
      return absl::AbortedError(
          absl::StrCat("in the reference kernel, after candidates had run: ",
                       status.message()));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    const std::vector<std::string>& command) {
  ASSIGN_OR_RETURN(std::unique_ptr<PipedProcess> process,
                   PipedProcess::Start(command, "worker"));
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(process)));
}

absl::StatusOr<v1::WorkerResponse> WorkerProcess::Call(
    const v1::WorkerRequest& request, std::chrono::milliseconds timeout) {
  if (!running()) return absl::AbortedError("the worker is not running");
  StarvedTime starved(pid(), kMostStarvedTimeouts * timeout);
  const Clock::Duration deadline = SystemClock().SteadyNow() + timeout;
  absl::Status sent =
      WriteFrame(process_->input(), request.SerializeAsString(), deadline);
  ReferenceUse use = ReferenceUse::kNone;
  absl::StatusOr<v1::WorkerResponse> answer =
      sent.ok() ? ReadAnswer(deadline, timeout, starved, use)
                : absl::StatusOr<v1::WorkerResponse>(std::move(sent));
  if (answer.ok()) return answer;
  if (absl::IsDeadlineExceeded(answer.status())) {
    process_->Kill();
    return Blamed(use, absl::DeadlineExceededError(absl::StrCat(
                           "no answer within ",
                           static_cast<double>(timeout.count()) / 1000,
                           " s; the worker was killed")));
  }
  if (absl::IsOutOfRange(answer.status()) ||
      absl::IsUnavailable(answer.status())) {
    return Blamed(use, process_->Died());
  }
  process_->Kill();
  return absl::DataLossError(absl::StrCat(
      "the worker does not speak the protocol: ", answer.status().message()));
}

// Returns the answer; `use` is what was said last. Errors: as ReadFrame.
absl::StatusOr<v1::WorkerResponse> WorkerProcess::ReadAnswer(
    Clock::Duration deadline, std::chrono::milliseconds timeout,
    StarvedTime& starved, ReferenceUse& use) {
  Clock::Duration begin = SystemClock().SteadyNow();
  for (;;) {
    const bool in_reference = use != ReferenceUse::kNone;
    Clock::Duration reference_deadline = begin + timeout;
    Clock::Duration& limit = in_reference ? reference_deadline : deadline;
    RETURN_IF_ERROR(AwaitInput(process_->output(), limit, starved));
    ASSIGN_OR_RETURN(const std::string frame,
                     ReadFrame(process_->output(), limit));
    v1::WorkerResponse response;
    if (!response.ParseFromString(frame) ||
        response.response_case() == v1::WorkerResponse::RESPONSE_NOT_SET) {
      return absl::DataLossError("its answer is no WorkerResponse");
    }
    if (!response.has_reference()) return response;
    const Clock::Duration now = SystemClock().SteadyNow();
    // The candidate's clock stands while the reference runs.
    if (in_reference) deadline += now - begin;
    begin = now;
    use = UseOf(response.reference());
  }
}

}  // namespace wavetune
