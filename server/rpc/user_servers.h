// UserServers: the gRPC servers behind one socket, so that users do not pay for
// each other's messages.
//
// Why: gRPC receives a whole message before it looks at its size. A quota
// bounds that memory, but where it is used up gRPC ends the oldest streams of
// the server, whoever caused it. So each user with connections has a server and
// a quota of their own; with more users than servers some share one.
//
// In front of each is a relay of its own, so that gRPC reads no byte of a peer
// (frame_gate.h), and users do not wait for each other there either.
//
//   ASSIGN_OR_RETURN(auto servers,
//                    UserServers::Start(options, make_services, relay));
//   servers->Serve(std::move(connection));
//
// Thread safety: Serve from one thread; the rest from another. Includes gRPC.
#ifndef WAVETUNE_SERVER_RPC_USER_SERVERS_H_
#define WAVETUNE_SERVER_RPC_USER_SERVERS_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "server/rpc/connection_acceptor.h"
#include "server/rpc/frame_relay.h"
#include "server/rpc/services.h"

namespace wavetune {

// Which of `servers` a user's connections go to: the first is that of root and
// of `own_user`. Not thread-safe.
class UserPlaces {
 public:
  UserPlaces(size_t servers, uid_t own_user)
      : servers_(servers), own_user_(own_user) {}

  size_t Of(uid_t user);

 private:
  // Users remembered; others are spread by their number.
  static constexpr size_t kMostUsers = 4096;

  const size_t servers_;
  const uid_t own_user_;
  std::map<uid_t, size_t> places_;
};

class UserServers {
 public:
  struct Options {
    size_t servers = 1;
    size_t max_message_bytes = 0;  // The most of any method.
    size_t quota_bytes = 0;        // A server's, for messages under way.
    // Says over gRPC which services and messages there are. Its streams have no
    // bounds of ours: for who is trusted alone.
    bool reflection = false;
    // Over a network: a peer that is silent for so long is asked for a sign of
    // life, and is gone where it gives none as long again.
    std::chrono::milliseconds ping_after{30000};
  };
  using MakeServices = std::function<Services()>;

  // Starts the servers, each with services of its own, and their relays, all
  // by `relay` but for `serve`; grpc.health.v1 answers that none serves, until
  // SetServing. Over TLS connections are to be made anew now and then. Errors:
  // INTERNAL where gRPC starts none; as FrameRelay::Start.
  static absl::StatusOr<std::unique_ptr<UserServers>> Start(
      const Options& options, const MakeServices& make_services,
      const FrameRelay::Options& relay);
  ~UserServers();

  // Takes a connection of a user.
  void Serve(AcceptedConnection connection);

  // Errors: as FrameRelay::Probe, of any of them.
  absl::Status Probe();

  // What grpc.health.v1 answers for `service`, or for all.
  void SetServing(const std::string& service, bool serving);
  void SetNothingServing();

  // Ends all calls, those still running at `deadline` as cancelled. Returns
  // when all have ended.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  struct Entry {
    Services services;
    // Ends after the server, whose last words it passes on.
    std::unique_ptr<FrameRelay> relay;
    std::unique_ptr<grpc::Server> server;
  };

  explicit UserServers(size_t servers);

  UserPlaces places_;
  std::vector<Entry> entries_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_USER_SERVERS_H_
