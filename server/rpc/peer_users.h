// PeerUsers: the users at the other end of connections.
//
// gRPC names a connection that was handed to it "fd:<number>"; the kernel says
// which user is at its other end, over TCP the peer's certificate. A number is
// known from the moment when its connection is handed over until another
// connection has the number.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_PEER_USERS_H_
#define WAVETUNE_SERVER_RPC_PEER_USERS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace wavetune {

class PeerUsers {
 public:
  struct Connection {
    // Equal for equal users: "1000", or "tls:" and a certificate's name.
    std::string user;
    int64_t since_us = 0;  // When it was accepted, by the steady time.
  };

  void Set(int fd, Connection connection) {
    std::lock_guard lock(mutex_);
    connections_[fd] = std::move(connection);
  }

  // Returns the connection of a call's peer (grpc::ServerContext::peer());
  // nothing for a peer that came another way.
  std::optional<Connection> Find(absl::string_view peer) const {
    int fd = -1;
    if (!absl::ConsumePrefix(&peer, "fd:") || !absl::SimpleAtoi(peer, &fd)) {
      return std::nullopt;
    }
    std::lock_guard lock(mutex_);
    const auto it = connections_.find(fd);
    if (it == connections_.end()) return std::nullopt;
    return it->second;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_. As many as there are descriptors.
  std::map<int, Connection> connections_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_PEER_USERS_H_
