#include "server/daemon_sockets.h"

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/tls_files.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "server/rpc/connection_kind.h"
#include "server/rpc/deafness_probe.h"
#include "server/rpc/request_bounds.h"
#include "server/rpc/tcp_socket.h"

namespace wavetune {
namespace {

// How long a stopping daemon waits for calls to end.
constexpr std::chrono::seconds kCallGrace{1};
// How long a daemon that nobody can reach waits for its log.
constexpr std::chrono::seconds kLogPatience{2};
// The servers of each socket, and what one may hold of messages on their way:
// beyond it gRPC ends streams. A thousand watchers take some 40 MiB of it. Who
// may use agent and admin socket, or has a certificate, is trusted not to hurt
// others there. Together 464 MiB: below what the unit may take (MemoryMax,
// deploy/systemd).
constexpr UserServers::Options kReaderServers{
    .servers = 4,
    .max_message_bytes = kMaxReaderBytes,
    .quota_bytes = 80 * kMiB};
constexpr UserServers::Options kAgentServers{
    .servers = 1,
    .max_message_bytes = kMaxAgentBytes,
    .quota_bytes = 48 * kMiB};
constexpr UserServers::Options kAdminServers{
    .servers = 1,
    .max_message_bytes = kMaxAdminBytes,
    .quota_bytes = 32 * kMiB,
    .reflection = true};
constexpr UserServers::Options kTcpServers{.servers = 1,
                                           .max_message_bytes = kMaxReaderBytes,
                                           .quota_bytes = 64 * kMiB};
static_assert(kMaxReaderBytes >= kMaxAgentBytes &&
              kMaxReaderBytes >= kMaxAdminBytes);

// What grpc.health.v1 knows the daemon's parts by (docs/configuration.md).
// Ready: can serve tables, even stale ones, or with a full disk; "" says the
// same. Live: answers at all, also while it stops. The store: not serving while
// nothing can be written to it.
constexpr char kReadyHealth[] = "wavetune.ready";
constexpr char kLiveHealth[] = "wavetune.live";
constexpr char kStoreHealth[] = "wavetune.store";

constexpr mode_t kEveryone = 0666;
constexpr mode_t kOwnerAndGroup = 0660;

void WarnOfSocket(const std::string& kind, const std::string& text) {
  LogOfKind(LogLevel::kWarning, "socket", kind, text);
}

// A daemon that nobody can reach is worse than none: whoever started it starts
// it anew. The store is as safe as at a crash, of which it loses nothing.
[[noreturn]] void EndWithReason(const std::string& reason) {
  // A log that takes nothing may be what a thread hangs in: it keeps the daemon
  // from ending no longer than this.
  pollfd log{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const auto patience = std::chrono::milliseconds(kLogPatience);
  if (::poll(&log, 1, static_cast<int>(patience.count())) == 1)
    Log(LogLevel::kError, "socket", absl::StrCat(reason, ". The daemon ends"));
  std::_Exit(EXIT_FAILURE);
}

void TellOfAccess(LogLevel level, const std::string& text) {
  Log(level, "tls", text);
}

// Half of what TCP needs is a mistake, not a wish for less. Certificate, key
// and authority alone are none: clients have variables of these names, too.
absl::Status CheckComplete(const TcpOptions& tcp) {
  if (tcp.address.empty() && tcp.files.policy.empty()) return absl::OkStatus();
  const std::vector<std::pair<const char*, const std::string*>> options = {
      {"--listen-tcp", &tcp.address},
      {"--tls-cert", &tcp.files.tls.cert},
      {"--tls-key", &tcp.files.tls.key},
      {"--tls-ca", &tcp.files.tls.ca},
      {"--authz-policy", &tcp.files.policy}};
  std::vector<std::string> missing;
  for (const auto& [name, value] : options) {
    if (value->empty()) missing.emplace_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "TCP needs --listen-tcp, --tls-cert, --tls-key, --tls-ca and "
      "--authz-policy; missing: ",
      absl::StrJoin(missing, ", ")));
}

// Returns whether nobody is told the same place twice. Port 0 is any.
absl::Status CheckApart(const DaemonOptions& options) {
  std::set<std::string> places;
  for (const std::string& place :
       {options.reader_socket, options.agent_socket, options.admin_socket,
        options.tcp.address, options.metrics_address}) {
    if (place.empty() || absl::EndsWith(place, ":0")) continue;
    if (places.insert(place).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "two listeners cannot share ", place,
        ": give each of --reader-socket, --agent-socket, --admin-socket, "
        "--listen-tcp and --metrics-address a place of its own"));
  }
  return absl::OkStatus();
}

}  // namespace

struct DaemonSockets::Role {
  ConnectionBounds bounds;
  UserServers::Options servers;
  ConnectionKind kind = UnixConnections();
  const TlsAccess* access = nullptr;  // Over TCP.
};

absl::Status DaemonSockets::Check(const DaemonOptions& options) {
  for (const std::string& path :
       {options.reader_socket, options.agent_socket, options.admin_socket}) {
    RETURN_IF_ERROR(CheckSocketPath(path));
  }
  RETURN_IF_ERROR(CheckComplete(options.tcp));
  if (!options.tcp.address.empty()) {
    RETURN_IF_ERROR(CheckTcpAddress(options.tcp.address));
    ASSIGN_OR_RETURN(const auto access,
                     TlsAccess::Open(options.tcp.files, TellOfAccess));
    // A daemon starts all the same, since the certificate can be replaced while
    // it runs; until then nobody comes in.
    RETURN_IF_ERROR(CheckValid(*access->material().material,
                               options.tcp.files.tls.cert, absl::Now()));
  }
  if (!options.metrics_address.empty()) {
    RETURN_IF_ERROR(
        CheckTcpAddress(options.metrics_address, "--metrics-address"));
  }
  return CheckApart(options);
}

absl::Status DaemonSockets::Claim() {
  RETURN_IF_ERROR(CheckComplete(options_.tcp));
  if (!options_.tcp.address.empty()) {
    ASSIGN_OR_RETURN(access_,
                     TlsAccess::Open(options_.tcp.files, TellOfAccess));
  }
  for (const std::string& path :
       {options_.reader_socket, options_.agent_socket, options_.admin_socket}) {
    ASSIGN_OR_RETURN(SocketLock lock, SocketLock::Take(path));
    locks_.push_back(std::move(lock));
    RETURN_IF_ERROR(PrepareSocketPath(path));
  }
  return absl::OkStatus();
}

absl::Status DaemonSockets::Listen(const RoleServices& services) {
  grpc::EnableDefaultHealthCheckService(true);
  const SocketBounds bounds =
      BoundsFor(options_.descriptors, access_ != nullptr);
  RETURN_IF_ERROR(ListenAt(
      ListeningSocket::Listen(
          options_.reader_socket,
          options_.reader_group ? kOwnerAndGroup : kEveryone,
          options_.reader_group),
      {bounds.reader, kReaderServers},
      [&] { return services.reader(&reader_streams_); }, &reader_));
  RETURN_IF_ERROR(ListenAt(
      ListeningSocket::Listen(options_.agent_socket, kOwnerAndGroup,
                              options_.agent_group),
      {bounds.agent, kAgentServers},
      [&] { return services.agent(&agent_streams_); }, &agent_));
  RETURN_IF_ERROR(ListenAt(
      ListeningSocket::Listen(options_.admin_socket, kOwnerAndGroup,
                              options_.admin_group),
      {bounds.admin, kAdminServers},
      [&] { return services.admin(&admin_streams_); }, &admin_));
  return access_ == nullptr ? absl::OkStatus()
                            : ListenOverTcp(bounds.tcp, services);
}

std::optional<int64_t> DaemonSockets::certificate_until_s() const {
  if (access_ == nullptr) return std::nullopt;
  return absl::ToUnixSeconds(access_->material().material->valid_until);
}

absl::Status DaemonSockets::ListenAt(
    absl::StatusOr<ListeningSocket> socket, const Role& role,
    const UserServers::MakeServices& make_services, Listener* listener) {
  RETURN_IF_ERROR(socket.status());
  ASSIGN_OR_RETURN(listener->servers,
                   UserServers::Start(role.servers, make_services,
                                      {.place = socket->path(),
                                       .peers = &peers_,
                                       .access = role.access,
                                       .warn = WarnOfSocket}));
  ASSIGN_OR_RETURN(
      listener->acceptor,
      ConnectionAcceptor::Start(*std::move(socket),
                                {.bounds = role.bounds,
                                 .serve =
                                     [servers = listener->servers.get()](
                                         AcceptedConnection connection) {
                                       servers->Serve(std::move(connection));
                                     },
                                 .warn = WarnOfSocket,
                                 .give_up = EndWithReason,
                                 .kind = role.kind}));
  return absl::OkStatus();
}

// The services of all roles: the policy says who may call which.
absl::Status DaemonSockets::ListenOverTcp(const ConnectionBounds& bounds,
                                          const RoleServices& services) {
  absl::StatusOr<ListeningSocket> socket = ListenOnTcp(options_.tcp.address);
  if (socket.ok()) tcp_address_ = socket->path();
  UserServers::Options servers = kTcpServers;
  servers.ping_after = options_.tcp.ping_after;
  const auto make_services = [&] {
    Services all = services.reader(&tcp_reader_streams_);
    const auto add = [&all](Services more) {
      std::move(more.begin(), more.end(), std::back_inserter(all));
    };
    add(services.agent(&tcp_agent_streams_));
    add(services.admin(&tcp_admin_streams_));
    return all;
  };
  RETURN_IF_ERROR(ListenAt(std::move(socket),
                           {bounds, servers, TlsConnections(), access_.get()},
                           make_services, &tcp_));
  access_looks_.Start(options_.tcp.look_interval, [this] { LookAtAccess(); });
  return absl::OkStatus();
}

void DaemonSockets::TellReady() {
  for (Listener* listener : Listeners()) {
    for (const char* service : {"", kReadyHealth, kLiveHealth}) {
      listener->servers->SetServing(service, true);
    }
  }
}

void DaemonSockets::TellOfStore(bool can_be_written) {
  for (Listener* listener : Listeners()) {
    listener->servers->SetServing(kStoreHealth, can_be_written);
  }
}

void DaemonSockets::Watch() {
  probes_.Start(DeafnessProbe::kInterval, [this] { Probe(); });
}

void DaemonSockets::Probe() {
  for (Listener* listener : Listeners()) {
    absl::Status deaf = listener->acceptor->Probe();
    if (deaf.ok()) deaf = listener->servers->Probe();
    if (!deaf.ok()) EndWithReason(std::string(deaf.message()));
  }
  options_.alive();
}

void DaemonSockets::LookAtAccess() {
  if (access_ == nullptr || !access_->Look(absl::Now())) return;
  for (StreamSet* streams :
       {&tcp_reader_streams_, &tcp_agent_streams_, &tcp_admin_streams_}) {
    streams->EndAll({grpc::StatusCode::UNAVAILABLE,
                     "who may call has changed: connect anew"});
  }
}

void DaemonSockets::StopServing() {
  probes_.Stop();
  access_looks_.Stop();
  for (Listener* listener : Listeners()) {
    listener->servers->SetNothingServing();
    listener->servers->SetServing(kLiveHealth, true);
  }
}

void DaemonSockets::EndStreams() {
  for (StreamSet* streams : AllStreams()) {
    streams->EndAll(
        grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon stops"));
  }
}

void DaemonSockets::EndCalls() {
  for (Listener* listener : Listeners()) {
    listener->acceptor.reset();
  }
  const auto deadline = std::chrono::system_clock::now() + kCallGrace;
  for (Listener* listener : Listeners()) {
    listener->servers->Shutdown(deadline);
  }
}

void DaemonSockets::Close() {
  for (Listener* listener : Listeners()) {
    listener->servers.reset();
  }
}

size_t DaemonSockets::TakeEndedStreams() {
  size_t ended = 0;
  for (StreamSet* streams : AllStreams()) ended += streams->TakeEnded();
  return ended;
}

std::vector<DaemonSockets::Listener*> DaemonSockets::Listeners() {
  std::vector<Listener*> started;
  for (Listener* listener : {&reader_, &agent_, &admin_, &tcp_}) {
    if (listener->servers != nullptr) started.push_back(listener);
  }
  return started;
}

std::vector<StreamSet*> DaemonSockets::AllStreams() {
  return {&reader_streams_,     &agent_streams_,     &admin_streams_,
          &tcp_reader_streams_, &tcp_agent_streams_, &tcp_admin_streams_};
}

}  // namespace wavetune
