// AgentSession: one agent's stream, from hello to the end. Knows no gRPC.
//
//   AgentSession session(&directory, options, send, end);
//   for each message: if (Status s = session.OnMessage(m); !s.ok()) end it
//   session.OnClosed("...");   // once, whatever ended it
//
// Thread safety: OnMessage and OnClosed are called from one thread at a time;
// `send` and `end` are called from any thread.
#ifndef WAVETUNE_SERVER_AGENTS_AGENT_SESSION_H_
#define WAVETUNE_SERVER_AGENTS_AGENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/wavetune/v1/agent_service.pb.h"
#include "server/agents/agent_device.h"
#include "server/agents/agent_directory.h"

namespace wavetune {

class AgentSession {
 public:
  struct Options {
    std::string program_version;
    // An agent that is silent for longer has hung; it sends a heartbeat every
    // few seconds.
    double heartbeat_timeout_s = 30;
    double idle_grace_s = 5;  // Others must have left a device so long.
  };
  using Send = std::function<void(v1::AttachResponse)>;
  using End = std::function<void(const absl::Status&)>;

  // `directory` outlives the session. Neither `send` nor `end` blocks.
  AgentSession(AgentDirectory* directory, Options options, Send send, End end);

  // Takes a message. Errors end the stream: FAILED_PRECONDITION where the API
  // versions do not fit, with what to upgrade. ALREADY_EXISTS where another
  // agent has a device. INVALID_ARGUMENT for a message out of order.
  // RESOURCE_EXHAUSTED for more devices, facts or reports than agent_limits.h
  // allows, in all or in a while. Texts that are too long are cut.
  absl::Status OnMessage(const v1::AttachRequest& message);

  // The stream has ended: devices are detached, their batches end.
  void OnClosed(const std::string& why);

 private:
  absl::Status Take(const v1::AttachRequest& message);
  // Counts a report. Errors: RESOURCE_EXHAUSTED where they come too often.
  absl::Status CountDeviceReport();
  absl::Status OnHello(const v1::AgentHello& hello);
  absl::Status OnDeviceReport(const v1::DeviceReport& report);
  void OnState(const v1::DeviceStateReport& report);
  absl::Status OnProblems(const v1::AgentProblems& problems);

  AgentDirectory* const directory_;
  const Options options_;
  const std::shared_ptr<AgentDevice::Stream> stream_;
  bool greeted_ = false;
  int64_t reports_since_us_ = 0;
  size_t device_reports_ = 0;  // Since then.
  std::vector<std::shared_ptr<AgentDevice>> devices_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_AGENTS_AGENT_SESSION_H_
