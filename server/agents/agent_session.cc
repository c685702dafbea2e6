#include "server/agents/agent_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/api_version.h"
#include "formats/types.h"
#include "server/agents/agent_limits.h"

namespace wavetune {
namespace {

// Returns the batch that a message reports on; 0 for other messages.
uint64_t BatchOf(const v1::AttachRequest& message) {
  switch (message.message_case()) {
    case v1::AttachRequest::kCandidate:
      return message.candidate().batch_id();
    case v1::AttachRequest::kSample:
      return message.sample().batch_id();
    case v1::AttachRequest::kFailure:
      return message.failure().batch_id();
    case v1::AttachRequest::kDone:
      return message.done().batch_id();
    default:
      return 0;
  }
}

absl::Status CheckFacts(const v1::DeviceFacts& facts) {
  if (facts.uuid().size() <= kMaxUuidBytes &&
      facts.ByteSizeLong() <= kMaxFactsBytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the facts of device ", BoundedText(facts.uuid(), kMaxUuidBytes),
      " take ", facts.ByteSizeLong(), " bytes, its UUID ", facts.uuid().size(),
      ": at most ", kMaxFactsBytes, " and ", kMaxUuidBytes, " are taken"));
}

absl::Status CheckDevices(const v1::AgentHello& hello) {
  if (static_cast<size_t>(hello.devices_size()) > kMaxAttachedDevices) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the agent has ", hello.devices_size(),
                     " devices: a daemon takes ", kMaxAttachedDevices));
  }
  for (const v1::DeviceFacts& facts : hello.devices()) {
    RETURN_IF_ERROR(CheckFacts(facts));
  }
  return absl::OkStatus();
}

}  // namespace

AgentSession::AgentSession(AgentDirectory* directory, Options options,
                           Send send, End end)
    : directory_(directory),
      options_(std::move(options)),
      stream_(std::make_shared<AgentDevice::Stream>()) {
  stream_->send = std::move(send);
  stream_->end = std::move(end);
  stream_->heartbeat_timeout_s = options_.heartbeat_timeout_s;
  stream_->idle_grace_s = options_.idle_grace_s;
  // Never used before, not even by an earlier daemon: an agent that comes back
  // may still have a report of an earlier stream's batch to tell.
  stream_->next_batch_id = static_cast<uint64_t>(SystemClock().NowUs());
  stream_->Touch();
}

absl::Status AgentSession::OnMessage(const v1::AttachRequest& message) {
  const absl::Status status = Take(message);
  // Whoever sends too much may not read why.
  if (absl::IsResourceExhausted(status)) {
    // Another reason is another line: they differ before the first number.
    const absl::string_view reason = status.message();
    LogOfKind(
        LogLevel::kWarning, "agent",
        absl::StrCat("refused ", stream_->agent_name, ": ",
                     reason.substr(0, reason.find_first_of("0123456789"))),
        absl::StrCat("refused ", stream_->agent_name, ": ", reason));
  }
  return status;
}

absl::Status AgentSession::Take(const v1::AttachRequest& message) {
  stream_->Touch();
  if (message.has_hello()) return OnHello(message.hello());
  if (!greeted_) {
    return absl::InvalidArgumentError("the first message must be a hello");
  }
  if (message.has_device()) {
    return OnDeviceReport(message.device());
  }
  if (message.has_problems()) return OnProblems(message.problems());
  if (message.has_state()) {
    OnState(message.state());
  } else if (const uint64_t batch_id = BatchOf(message); batch_id != 0) {
    // A report that no device wants is a late one of a cancelled batch.
    for (const std::shared_ptr<AgentDevice>& device : devices_) {
      ASSIGN_OR_RETURN(const bool taken, device->Deliver(batch_id, message));
      if (taken) break;
    }
  }
  return absl::OkStatus();
}

absl::Status AgentSession::OnHello(const v1::AgentHello& hello) {
  if (greeted_) return absl::InvalidArgumentError("a second hello");
  const absl::Status version =
      CheckApiVersion(hello.api_version(), "agent", "daemon");
  if (!version.ok()) {
    const std::string name =
        BoundedText(hello.agent_name(), kMaxAgentNameBytes);
    LogOfKind(
        LogLevel::kWarning, "agent", absl::StrCat("refused ", name),
        absl::StrCat("refused ", name, " (version ",
                     BoundedText(hello.program_version(), kMaxAgentNameBytes),
                     "): ", version.message()));
    return version;
  }
  stream_->agent_name = BoundedText(hello.agent_name(), kMaxAgentNameBytes);
  RETURN_IF_ERROR(CheckDevices(hello));
  std::vector<std::shared_ptr<AgentDevice>> devices;
  for (const v1::DeviceFacts& facts : hello.devices()) {
    devices.push_back(
        std::make_shared<AgentDevice>(DeviceFactsFromProto(facts), stream_));
  }
  stream_->kernels = RecentMap<bool>(static_cast<size_t>(
      std::clamp(hello.kept_kernels(), 0, kMaxKeptKernels)));
  // The answer first: once attached, a waiting job may send its batch.
  v1::AttachResponse answer;
  answer.mutable_hello()->set_api_version(kApiVersion);
  answer.mutable_hello()->set_program_version(options_.program_version);
  RETURN_IF_ERROR(directory_->Check(devices));
  stream_->send(std::move(answer));
  RETURN_IF_ERROR(directory_->Attach(devices));
  devices_ = std::move(devices);
  greeted_ = true;
  for (const std::shared_ptr<AgentDevice>& device : devices_) {
    Log(LogLevel::kInfo, "agent",
        absl::StrCat(stream_->agent_name, " attached ", device->device().uuid,
                     " (", device->device().label, ")"));
  }
  return absl::OkStatus();
}

absl::Status AgentSession::CountDeviceReport() {
  const int64_t now_us = directory_->NowUs();
  const int64_t age_us = now_us - reports_since_us_;
  // A clock that was set back begins anew, too.
  if (age_us < 0 || age_us >= kDeviceReportsS * 1'000'000) {
    reports_since_us_ = now_us;
    device_reports_ = 0;
  }
  const size_t allowed = DeviceReportsAllowed(devices_.size());
  if (++device_reports_ <= allowed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "more than ", allowed, " reports of ", devices_.size(), " devices in ",
      kDeviceReportsS, " s: report a device where it has changed"));
}

absl::Status AgentSession::OnDeviceReport(const v1::DeviceReport& report) {
  RETURN_IF_ERROR(CountDeviceReport());
  RETURN_IF_ERROR(CheckFacts(report.facts()));
  const std::string problem = BoundedText(report.problem(), kMaxReasonBytes);
  for (const std::shared_ptr<AgentDevice>& device : devices_) {
    const DeviceFacts before = device->device();
    if (before.uuid != report.device_uuid()) continue;
    if (report.facts().uuid() == report.device_uuid()) {
      DeviceFacts facts = DeviceFactsFromProto(report.facts());
      if (facts != before) {
        device->SetFacts(std::move(facts));
        directory_->See(device);
        LogOfKind(LogLevel::kWarning, "agent",
                  absl::StrCat("facts ", before.uuid),
                  absl::StrCat("device ", before.uuid, " is now ",
                               EnvironmentKey(device->device())));
      }
    }
    if (device->problem() == problem) continue;
    device->SetProblem(problem);
    directory_->NoteProblem(*device);
    LogOfKind(
        LogLevel::kWarning, "agent",
        absl::StrCat(problem.empty() ? "usable " : "problem ", before.uuid),
        absl::StrCat("device ", before.uuid, ": ",
                     problem.empty() ? "usable again" : problem));
  }
  return absl::OkStatus();
}

absl::Status AgentSession::OnProblems(const v1::AgentProblems& problems) {
  RETURN_IF_ERROR(CountDeviceReport());
  std::vector<std::string> lines;
  for (const std::string& line : problems.lines()) {
    if (lines.size() == kMaxAgentProblems) break;
    lines.push_back(BoundedText(line, kMaxReasonBytes));
  }
  directory_->SetAgentProblems(stream_.get(), std::move(lines));
  return absl::OkStatus();
}

void AgentSession::OnState(const v1::DeviceStateReport& report) {
  for (const std::shared_ptr<AgentDevice>& device : devices_) {
    if (device->device().uuid != report.device_uuid()) continue;
    DeviceState state = DeviceStateFromProto(report.state());
    state.busy = BoundedText(state.busy, kMaxReasonBytes);
    device->SetState(std::move(state));
    directory_->SetHot(report.device_uuid(), device->WhyHot());
  }
}

void AgentSession::OnClosed(const std::string& why) {
  directory_->SetAgentProblems(stream_.get(), {});
  directory_->Detach(devices_);
  for (const std::shared_ptr<AgentDevice>& device : devices_) {
    device->Close(
        absl::StrCat("agent ", stream_->agent_name, " is gone: ", why));
  }
  if (greeted_) {
    Log(LogLevel::kInfo, "agent",
        absl::StrCat(stream_->agent_name, " detached: ", why));
  }
  devices_.clear();
  greeted_ = false;
}

}  // namespace wavetune
