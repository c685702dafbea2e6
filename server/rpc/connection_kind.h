// ConnectionKind: what the connections of a socket are like: how they begin,
// whose they are and how one is refused.
//
// Thread safety: a plain value of pure functions.
#ifndef WAVETUNE_SERVER_RPC_CONNECTION_KIND_H_
#define WAVETUNE_SERVER_RPC_CONNECTION_KIND_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/rpc/connection_bounds.h"

namespace wavetune {

struct ConnectionKind {
  // What a peer says first; at most 64 bytes.
  absl::string_view opening;
  // Whose a connection is; nothing where it has gone already.
  std::optional<ConnectionPeer> (*peer_of)(int fd) = nullptr;
  // What a peer is told that is refused; may be nothing.
  std::string (*refusal)(absl::string_view reason) = nullptr;
  // For whom places are kept, besides root (ConnectionCounts).
  uid_t owner = 0;
};

// Those of a unix socket: HTTP/2, of users whom the kernel knows.
ConnectionKind UnixConnections();

// Those over TCP: TLS, of addresses. Places are kept for none.
ConnectionKind TlsConnections();

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_CONNECTION_KIND_H_
