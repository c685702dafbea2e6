#include "profiler_agent/link/agent_stream.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "formats/api_version.h"
#include "formats/foreign_text.h"
#include "formats/types.h"
#include "profiler_agent/measure/stop_wait.h"
#include "profiler_agent/worker/kernel_source.h"

namespace wavetune {
namespace {

using Hosts = std::vector<std::unique_ptr<DeviceHost>>;

v1::AttachRequest Hello(const Hosts& hosts, const AgentStreamOptions& options) {
  v1::AttachRequest message;
  v1::AgentHello* hello = message.mutable_hello();
  hello->set_api_version(kApiVersion);
  hello->set_program_version(options.program_version);
  hello->set_agent_name(options.agent_name);
  hello->set_kept_kernels(KeptKernels::kMost);
  for (const std::unique_ptr<DeviceHost>& host : hosts) {
    *hello->add_devices() = DeviceFactsToProto(host->facts());
  }
  return message;
}

void BeatUntilStopped(ReportRelay& relay, std::chrono::milliseconds interval,
                      const std::stop_token& stop) {
  v1::AttachRequest heartbeat;
  heartbeat.mutable_heartbeat();
  while (!SleepOrStop(interval, stop)) relay.Report(heartbeat);
}

// Beside the heartbeat, which must not wait for a driver that hangs.
void WatchUntilStopped(const Hosts& hosts, std::chrono::milliseconds interval,
                       const std::stop_token& stop) {
  do {
    for (const std::unique_ptr<DeviceHost>& host : hosts) {
      if (!stop.stop_requested()) host->Watch();
    }
  } while (!SleepOrStop(interval, stop));
}

// Hands a batch to its device.
template <typename Batch>
void Route(const Hosts& hosts, KeptKernels& kernels, ReportRelay& relay,
           Batch&& batch) {
  const ReportSink report = [&relay](const v1::AttachRequest& done) {
    relay.Report(done);
  };
  // Whatever becomes of the batch: a later one may name its kernel.
  absl::StatusOr<DeviceHost::SharedKernel> kernel =
      kernels.Take(batch.kernel());
  const auto host =
      std::find_if(hosts.begin(), hosts.end(), [&batch](const auto& each) {
        return each->facts().uuid == batch.device_uuid();
      });
  if (host == hosts.end()) {
    ReportDone(batch.batch_id(),
               absl::NotFoundError(absl::StrCat("this agent has no device ",
                                                batch.device_uuid())),
               report);
  } else if (!kernel.ok()) {
    ReportDone(batch.batch_id(), kernel.status(), report,
               /*kernel_unknown=*/absl::IsNotFound(kernel.status()));
  } else {
    batch.clear_kernel();
    (*host)->Submit(std::forward<Batch>(batch), *std::move(kernel));
  }
}

void Dispatch(const Hosts& hosts, KeptKernels& kernels, ReportRelay& relay,
              v1::AttachResponse& message) {
  switch (message.message_case()) {
    case v1::AttachResponse::kPrepare:
      return Route(hosts, kernels, relay,
                   std::move(*message.mutable_prepare()));
    case v1::AttachResponse::kMeasure:
      return Route(hosts, kernels, relay,
                   std::move(*message.mutable_measure()));
    case v1::AttachResponse::kCancel:
      for (const std::unique_ptr<DeviceHost>& host : hosts) {
        host->Cancel(message.cancel().batch_id());
      }
      return;
    case v1::AttachResponse::kStored:
      Log(LogLevel::kDebug, "agent",
          absl::StrCat("batch ", message.stored().batch_id(), ": ",
                       message.stored().count(), " samples stored"));
      return;
    default:
      return;  // A newer daemon may say what we need not understand.
  }
}

// A device that is lost must be known to be, also to a daemon that restarted.
void ReportProblems(const Hosts& hosts, ReportRelay& relay) {
  for (const std::unique_ptr<DeviceHost>& host : hosts) {
    const std::string problem = host->problem();
    if (problem.empty()) continue;
    v1::AttachRequest message;
    message.mutable_device()->set_device_uuid(host->facts().uuid);
    message.mutable_device()->set_problem(problem);
    relay.Report(message);
  }
}

}  // namespace

void ReportRelay::Attach(MessageStream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stream_ = stream;
  if (problems_.problems().lines_size() > 0) Send(problems_);
}

void ReportRelay::Report(const v1::AttachRequest& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Send(message);
}

bool ReportRelay::TellProblems(const std::vector<std::string>& problems) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto& before = problems_.problems().lines();
  if (std::equal(before.begin(), before.end(), problems.begin(),
                 problems.end())) {
    return false;
  }
  problems_.mutable_problems()->mutable_lines()->Assign(problems.begin(),
                                                        problems.end());
  Send(problems_);
  return true;
}

void ReportRelay::Send(const v1::AttachRequest& message) {
  if (stream_ == nullptr) return;
  // A failed write means that the stream ended; reading notices it, too.
  const bool written = HasForeignText(message)
                           ? stream_->Write(WithoutForeignText(message))
                           : stream_->Write(message);
  if (!written) stream_ = nullptr;
}

absl::Status ServeStream(MessageStream& stream, ReportRelay& relay,
                         const std::vector<std::unique_ptr<DeviceHost>>& hosts,
                         const AgentStreamOptions& options) {
  v1::AttachResponse message;
  if (!stream.Write(WithoutForeignText(Hello(hosts, options))) ||
      !stream.Read(&message)) {
    return absl::UnavailableError("the daemon did not answer hello");
  }
  if (!message.has_hello()) {
    return absl::FailedPreconditionError(
        "the daemon's first message was not hello");
  }
  RETURN_IF_ERROR(
      CheckApiVersion(message.hello().api_version(), "daemon", "agent"));
  Log(LogLevel::kInfo, "agent",
      absl::StrCat("attached to wavetuned ",
                   message.hello().program_version()));
  relay.Attach(&stream);
  ReportProblems(hosts, relay);
  {
    const std::jthread heart([&](const std::stop_token& stop) {
      BeatUntilStopped(relay, options.heartbeat_interval, stop);
    });
    const std::jthread eyes([&](const std::stop_token& stop) {
      WatchUntilStopped(hosts, options.heartbeat_interval, stop);
    });
    KeptKernels kernels;  // Of this stream: the daemon knows of these only.
    while (stream.Read(&message)) Dispatch(hosts, kernels, relay, message);
  }
  relay.Attach(nullptr);
  for (const std::unique_ptr<DeviceHost>& host : hosts) {
    host->CancelAll();
    host->WaitUntilIdle();
  }
  return absl::OkStatus();
}

}  // namespace wavetune
