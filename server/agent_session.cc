#include "server/agent_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/status_macros.h"
#include "proto/convert/api_version.h"
#include "proto/convert/types.h"
#include "server/log.h"
#include "server/registry/clock.h"

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
  stream_->Touch();
  if (message.has_hello()) return OnHello(message.hello());
  if (!greeted_) {
    return absl::InvalidArgumentError("the first message must be a hello");
  }
  if (message.has_device()) {
    OnDeviceReport(message.device());
  } else if (message.has_state()) {
    OnState(message.state());
  } else if (const uint64_t batch_id = BatchOf(message); batch_id != 0) {
    // A report that no device wants is a late one of a cancelled batch.
    for (const std::shared_ptr<AgentDevice>& device : devices_) {
      if (device->Deliver(batch_id, message)) break;
    }
  }
  return absl::OkStatus();
}

absl::Status AgentSession::OnHello(const v1::AgentHello& hello) {
  if (greeted_) return absl::InvalidArgumentError("a second hello");
  const absl::Status version =
      CheckApiVersion(hello.api_version(), "agent", "daemon");
  if (!version.ok()) {
    Log(LogLevel::kWarning, "agent",
        absl::StrCat("refused ", hello.agent_name(), " (version ",
                     hello.program_version(), "): ", version.message()));
    return version;
  }
  stream_->agent_name = hello.agent_name();
  std::vector<std::shared_ptr<AgentDevice>> devices;
  for (const v1::DeviceFacts& facts : hello.devices()) {
    devices.push_back(
        std::make_shared<AgentDevice>(DeviceFactsFromProto(facts), stream_));
  }
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
        absl::StrCat(hello.agent_name(), " attached ", device->device().uuid,
                     " (", device->device().label, ")"));
  }
  return absl::OkStatus();
}

void AgentSession::OnDeviceReport(const v1::DeviceReport& report) {
  for (const std::shared_ptr<AgentDevice>& device : devices_) {
    if (device->device().uuid != report.device_uuid()) continue;
    if (report.facts().uuid() == report.device_uuid()) {
      device->SetFacts(DeviceFactsFromProto(report.facts()));
      directory_->See(device);
      Log(LogLevel::kWarning, "agent",
          absl::StrCat("device ", report.device_uuid(), " is now ",
                       EnvironmentKey(device->device())));
    }
    if (device->problem() == report.problem()) continue;
    device->SetProblem(report.problem());
    Log(LogLevel::kWarning, "agent",
        absl::StrCat(
            "device ", report.device_uuid(), ": ",
            report.problem().empty() ? "usable again" : report.problem()));
  }
  directory_->Notify();
}

void AgentSession::OnState(const v1::DeviceStateReport& report) {
  for (const std::shared_ptr<AgentDevice>& device : devices_) {
    if (device->device().uuid != report.device_uuid()) continue;
    device->SetState(DeviceStateFromProto(report.state()));
  }
}

void AgentSession::OnClosed(const std::string& why) {
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
