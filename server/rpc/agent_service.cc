#include <memory>
#include <utility>

#include "formats/foreign_text.h"
#include "formats/status.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"
#include "server/agents/agent_directory.h"
#include "server/agents/agent_session.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/caller.h"
#include "server/rpc/service_parts.h"
#include "server/rpc/stream_reactor.h"

namespace wavetune {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;

// What may wait for an agent: a batch with its sources and what follows it.
constexpr QueueLimit kAgentLimit = {.messages = 4096,
                                    .bytes = size_t{64} << 20};
// One report of an agent; a hello names all its devices.
constexpr RequestBounds kAgentMessage{kMaxAgentBytes, 8 * kMiB};

class AttachReactor final
    : public StreamReactor<
          RawBidiReactor<v1::AttachRequest, v1::AttachResponse>,
          v1::AttachResponse> {
 public:
  void Start(AgentDirectory* devices, const AgentSession::Options& options) {
    const std::weak_ptr<AttachReactor> weak =
        std::static_pointer_cast<AttachReactor>(this->shared_from_this());
    session_ = std::make_unique<AgentSession>(
        devices, options,
        [weak](v1::AttachResponse message) {
          if (const auto self = weak.lock()) self->Send(std::move(message));
        },
        [weak](const absl::Status& status) {
          if (const auto self = weak.lock()) self->End(ToGrpcStatus(status));
        });
    StartReading();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    absl::Status status = ParseRead(kAgentMessage, &message_);
    if (status.ok()) status = session_->OnMessage(message_);
    if (status.ok()) {
      StartReading();
    } else {
      End(ToGrpcStatus(status));
    }
  }

 protected:
  void OnClosed() override {
    if (session_ != nullptr) session_->OnClosed("its stream has ended");
  }

 private:
  void Send(v1::AttachResponse message) {
    EscapeForeignText(&message);
    if (Queue({std::make_shared<const v1::AttachResponse>(std::move(message))},
              kAgentLimit)) {
      return;
    }
    End({grpc::StatusCode::RESOURCE_EXHAUSTED,
         "the agent reads nothing of what it is sent"});
  }

  std::unique_ptr<AgentSession> session_;
  v1::AttachRequest message_;
};

using RawAgentService =
    v1::AgentService::WithRawCallbackMethod_Attach<v1::AgentService::Service>;

class AgentService final : public RawAgentService {
 public:
  AgentService(AgentDirectory* devices, AgentSession::Options options,
               StreamSet* streams, const PeerUsers* peers)
      : devices_(devices),
        options_(std::move(options)),
        streams_(streams),
        peers_(peers) {}

  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Attach(
      CallbackServerContext* context) override {
    auto reactor = std::make_shared<AttachReactor>();
    if (reactor->Open(streams_, UserOf(peers_, *context)))
      reactor->Start(devices_, options_);
    return reactor.get();
  }

 private:
  AgentDirectory* const devices_;
  const AgentSession::Options options_;
  StreamSet* const streams_;
  const PeerUsers* const peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAgentService(
    AgentDirectory* devices, const AgentSession::Options& options,
    StreamSet* streams, const PeerUsers* peers) {
  return std::make_unique<AgentService>(devices, options, streams, peers);
}

}  // namespace wavetune
