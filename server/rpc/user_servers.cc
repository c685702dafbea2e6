#include "server/rpc/user_servers.h"

#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_posix.h"

namespace wavetune {
namespace {

// Connections without a call are closed after this: clients of ours hold a
// watch, and connect anew in a moment where they do not.
constexpr std::chrono::minutes kMostIdle{5};
// Calls at once on one connection; more wait at the client.
constexpr int kMostStreams = 128;

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
  // Services outlive their server.
  for (Entry& entry : entries_) entry.server.reset();
}

absl::StatusOr<std::unique_ptr<UserServers>> UserServers::Start(
    const Options& options, const MakeServices& make_services) {
  std::unique_ptr<UserServers> servers(new UserServers(options.servers));
  for (Entry& entry : servers->entries_) {
    entry.services = make_services();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(options.max_message_bytes));
    grpc::ResourceQuota quota("wavetuned");
    quota.Resize(options.quota_bytes);
    builder.SetResourceQuota(quota);
    builder.AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_IDLE_MS,
        static_cast<int>(std::chrono::milliseconds(kMostIdle).count()));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
    for (const auto& service : entry.services) {
      builder.RegisterService(service.get());
    }
    entry.server = builder.BuildAndStart();
    if (entry.server == nullptr) {
      return absl::InternalError("gRPC starts no server: see the log");
    }
  }
  return servers;
}

void UserServers::Serve(int fd, uid_t user) {
  grpc::AddInsecureChannelFromFd(entries_[places_.Of(user)].server.get(), fd);
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
  for (const Entry& entry : entries_) entry.server->Shutdown(deadline);
}

}  // namespace wavetune
