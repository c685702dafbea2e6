#include "server/rpc/user_servers.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/impl/server_builder_plugin.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "server/rpc/frame_gate.h"

namespace wavetune {
namespace {

// Connections without a call are closed after this: clients of ours hold a
// watch, and connect anew in a moment where they do not.
constexpr std::chrono::minutes kMostIdle{5};
// How old a connection with a certificate gets: then it takes no new calls, and
// the client shows its certificate anew. Calls that run are not ended.
constexpr std::chrono::hours kMostAge{1};

// Whether one server says what can be called. The library, once it is linked,
// adds itself to every server of the process.
class Reflection final : public grpc::ServerBuilderOption {
 public:
  explicit Reflection(bool on) : on_(on) {}
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*
                         plugins) override {
    using Plugin = grpc::reflection::ProtoServerReflectionPlugin;
    auto own = std::make_unique<Plugin>();
    std::erase_if(*plugins, [&](const auto& plugin) {
      return plugin->name() == own->name();
    });
    if (on_) plugins->push_back(std::move(own));
  }

 private:
  const bool on_;
};

// Whether a call of "/package.Service/Method" sends more than one message.
bool SendsMany(absl::string_view path) {
  std::string name(absl::StripPrefix(path, "/"));
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          name);
  return method != nullptr && method->client_streaming();
}

int Milliseconds(std::chrono::milliseconds time) {
  return static_cast<int>(time.count());
}

// How often clients may ask for a sign of life: ours do every 30 s.
constexpr std::chrono::seconds kLeastPings{10};

// Has a server notice peers that are gone without a word, and its connections
// be made anew.
void ServeOverNetwork(std::chrono::milliseconds ping_after,
                      grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                              Milliseconds(ping_after));
  // The relay waits half of that: whose answer is late never has it heard.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              Milliseconds(2 * ping_after));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      Milliseconds(kLeastPings));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                              Milliseconds(kMostAge));
}

}  // namespace

size_t UserPlaces::Of(uid_t user) {
  if (servers_ <= 1 || user == 0 || user == own_user_) return 0;
  const size_t others = servers_ - 1;
  const auto known = places_.find(user);
  if (known != places_.end()) return known->second;
  if (places_.size() >= kMostUsers) return 1 + user % others;
  return places_[user] = 1 + places_.size() % others;
}

UserServers::UserServers(size_t servers)
    : places_(servers, ::geteuid()), entries_(servers) {}

UserServers::~UserServers() {
  for (const Entry& entry : entries_) {
    if (entry.relay != nullptr) entry.relay->StopServing();
  }
  // Services outlive their server.
  for (Entry& entry : entries_) entry.server.reset();
}

absl::StatusOr<std::unique_ptr<UserServers>> UserServers::Start(
    const Options& options, const MakeServices& make_services,
    const FrameRelay::Options& relay) {
  std::unique_ptr<UserServers> servers(new UserServers(options.servers));
  for (Entry& entry : servers->entries_) {
    entry.services = make_services();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(options.max_message_bytes));
    grpc::ResourceQuota quota("wavetuned");
    quota.Resize(options.quota_bytes);
    builder.SetResourceQuota(quota);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                               Milliseconds(kMostIdle));
    // Counted by the relay, too: here it takes the peer's word that it heard.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               static_cast<int>(FrameGate::kMostCalls));
    builder.SetOption(std::make_unique<Reflection>(options.reflection));
    for (const auto& service : entry.services) {
      builder.RegisterService(service.get());
    }
    if (relay.access != nullptr) {
      ServeOverNetwork(options.ping_after, &builder);
    } else {  // Nobody leaves a socket of this machine without a word.
      builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
    }
    entry.server = builder.BuildAndStart();
    if (entry.server == nullptr) {
      return absl::InternalError("gRPC starts no server: see the log");
    }
    // gRPC says that it serves as soon as it runs: whoever starts it knows
    // when.
    if (auto* health = entry.server->GetHealthCheckService()) {
      health->SetServingStatus("", false);
    }
    FrameRelay::Options own = relay;
    own.sends_many = SendsMany;
    if (relay.access != nullptr) own.pong = options.ping_after;
    own.serve = [server = entry.server.get()](int fd) {
      grpc::AddInsecureChannelFromFd(server, fd);
    };
    ASSIGN_OR_RETURN(entry.relay, FrameRelay::Start(std::move(own)));
  }
  return servers;
}

void UserServers::Serve(AcceptedConnection connection) {
  const size_t place = places_.Of(connection.peer.user);
  entries_[place].relay->Add(std::move(connection));
}

absl::Status UserServers::Probe() {
  for (const Entry& entry : entries_) RETURN_IF_ERROR(entry.relay->Probe());
  return absl::OkStatus();
}

void UserServers::SetServing(const std::string& service, bool serving) {
  for (const Entry& entry : entries_) {
    if (auto* health = entry.server->GetHealthCheckService()) {
      health->SetServingStatus(service, serving);
    }
  }
}

void UserServers::SetNothingServing() {
  for (const Entry& entry : entries_) {
    if (auto* health = entry.server->GetHealthCheckService()) {
      health->SetServingStatus(false);
    }
  }
}

void UserServers::Shutdown(std::chrono::system_clock::time_point deadline) {
  for (const Entry& entry : entries_) entry.relay->StopServing();
  for (const Entry& entry : entries_) entry.server->Shutdown(deadline);
}

}  // namespace wavetune
