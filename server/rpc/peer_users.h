// PeerUsers: the users at the other end of connections.
//
// gRPC names a connection that was handed to it "fd:<number>"; the kernel says
// which user is at its other end. A number is known from the moment when its
// connection is handed over until another connection has the number.
//
// One over TCP is named by its address, which is forgotten with it. There the
// certificate, not this, says whose it is (server/rpc/caller.h).
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_PEER_USERS_H_
#define WAVETUNE_SERVER_RPC_PEER_USERS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace wavetune {

class PeerUsers {
 public:
  struct Connection {
    uid_t user = 0;
    int64_t since_us = 0;  // When it was accepted, by the steady time.
  };

  void Set(int fd, const Connection& connection) {
    std::lock_guard lock(mutex_);
    connections_[fd] = connection;
  }

  void SetAddress(const std::string& address, const Connection& connection) {
    std::lock_guard lock(mutex_);
    by_address_[address] = connection;
  }
  void ForgetAddress(const std::string& address) {
    std::lock_guard lock(mutex_);
    by_address_.erase(address);
  }

  // Returns the connection of a call's peer (grpc::ServerContext::peer());
  // nothing for a peer that came another way.
  std::optional<Connection> Find(absl::string_view peer) const {
    if (!IsHandedOver(peer)) return Find(by_address_, std::string(peer));
    int fd = -1;
    absl::ConsumePrefix(&peer, kHandedOver);
    if (!absl::SimpleAtoi(peer, &fd)) return std::nullopt;
    return Find(connections_, fd);
  }

  // Whether gRPC calls a connection so that was handed over from a unix socket.
  static bool IsHandedOver(absl::string_view peer) {
    return absl::StartsWith(peer, kHandedOver);
  }

 private:
  static constexpr char kHandedOver[] = "fd:";

  template <typename Map>
  std::optional<Connection> Find(const Map& map,
                                 const typename Map::key_type& key) const {
    std::lock_guard lock(mutex_);
    const auto it = map.find(key);
    if (it == map.end()) return std::nullopt;
    return it->second;
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_. As many as there are descriptors.
  std::map<int, Connection> connections_;
  std::map<std::string, Connection> by_address_;  // As many as are open.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_PEER_USERS_H_
