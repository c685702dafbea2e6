// FakeAgentService: the daemon's side of Attach, on a socket, under a test's
// control. Thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_FAKE_AGENT_SERVICE_H_
#define WAVETUNE_PROFILER_AGENT_LINK_FAKE_AGENT_SERVICE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "grpcpp/server.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"

namespace wavetune {

class FakeAgentService : public v1::AgentService::Service {
 public:
  // Serves on unix:`path`; answers hello with `api_version`.
  FakeAgentService(const std::string& path, int api_version);
  ~FakeAgentService() override;

  // From now on hellos are answered with this error.
  void Refuse(const grpc::Status& status);
  // Returns whether so many hellos are refused within a minute.
  bool WaitForRefusals(int count);

  // Returns the hello of the agent once one is attached.
  std::optional<v1::AgentHello> WaitForAgent();

  // Sends to the attached agent.
  void Send(const v1::AttachResponse& message);

  // Returns the next message that is no heartbeat, or nothing after a minute.
  std::optional<v1::AttachRequest> Next();

  // Returns whether a heartbeat comes within a minute.
  bool WaitForHeartbeat();

  grpc::Status Attach(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AttachResponse, v1::AttachRequest>* stream)
      override;

 private:
  bool WaitFor(const std::function<bool()>& condition);

  const int api_version_;
  std::mutex mutex_;
  std::condition_variable changed_;
  grpc::ServerReaderWriter<v1::AttachResponse, v1::AttachRequest>* stream_ =
      nullptr;
  std::optional<v1::AgentHello> hello_;
  grpc::Status refusal_;
  int refusals_ = 0;
  std::deque<v1::AttachRequest> received_;
  int heartbeats_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_FAKE_AGENT_SERVICE_H_
