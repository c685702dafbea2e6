// ConnectionBounds: how many connections a socket takes, in all and per user.
//
// Why: every connection costs the daemon three descriptors and some 40 KiB, and
// the reader socket is open to everybody. Without bounds any user can take all
// descriptors, and then nobody else gets in.
//
// Thread safety: functions are pure; ConnectionCounts is for one thread.
#ifndef WAVETUNE_SERVER_RPC_CONNECTION_BOUNDS_H_
#define WAVETUNE_SERVER_RPC_CONNECTION_BOUNDS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace wavetune {

struct ConnectionBounds {
  size_t in_all = 0;
  size_t per_user = 0;
};

// The bounds of a daemon's three sockets, and of TCP.
struct SocketBounds {
  ConnectionBounds reader;
  ConnectionBounds agent;
  ConnectionBounds admin;
  ConnectionBounds tcp;
};

// Returns the bounds for a process that may open `descriptors`: those of
// docs/limits.md, or fewer where there are not enough descriptors for them. TCP
// has none where it is not `over_tcp`. Cannot fail.
SocketBounds BoundsFor(uint64_t descriptors, bool over_tcp);

// Who is at the other end.
struct ConnectionPeer {
  // For people: "user 1000", or "address 192.0.2.1".
  std::string Text() const;

  uid_t user = 0;  // Over TCP a number for the address: its connections share.
  pid_t process = 0;    // 0 over TCP.
  std::string address;  // Over TCP, without the port; empty on a unix socket.
};

// Counts the connections of one socket.
class ConnectionCounts {
 public:
  // Places beyond both bounds for root and `own_user`, one for each process. So
  // an administrator gets in although other processes of the same user took all
  // places of that user.
  static constexpr size_t kKeptForOwners = 16;

  ConnectionCounts(ConnectionBounds bounds, uid_t own_user)
      : bounds_(bounds), own_user_(own_user) {}

  // Counts one more connection of `peer`. Errors: RESOURCE_EXHAUSTED saying
  // which bound; then it is not counted.
  absl::Status Admit(const ConnectionPeer& peer);
  // Counts one less.
  void Release(const ConnectionPeer& peer);

  size_t in_all() const { return in_all_ + kept_.size(); }
  size_t Of(uid_t user) const;

 private:
  // Takes a kept place where `peer` may have one.
  bool TakeKept(const ConnectionPeer& peer);

  const ConnectionBounds bounds_;
  const uid_t own_user_;
  // Within the bounds.
  size_t in_all_ = 0;
  std::map<uid_t, size_t> by_user_;
  // In kept places, by process.
  std::map<pid_t, uid_t> kept_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_CONNECTION_BOUNDS_H_
