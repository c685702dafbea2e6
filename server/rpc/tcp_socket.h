// TCP sockets that listen.
//
// Thread safety: functions.
#ifndef WAVETUNE_SERVER_RPC_TCP_SOCKET_H_
#define WAVETUNE_SERVER_RPC_TCP_SOCKET_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/rpc/unix_socket.h"

namespace wavetune {

// Listens at "host:port", "[2001:db8::1]:port", ":port" (every IPv4 address of
// the machine) or "[::]:port" (every address); of a name with several addresses
// at the first. Port 0 is one
// that is free; path() of the socket says which. Errors: INVALID_ARGUMENT for
// something else and for a name without an address; ALREADY_EXISTS where
// somebody listens there; PERMISSION_DENIED; RESOURCE_EXHAUSTED without
// descriptors. Each says what to do. Cost: may ask a name server.
// `option` is what the address was given by, for people.
absl::StatusOr<ListeningSocket> ListenOnTcp(
    const std::string& address, absl::string_view option = "--listen-tcp");

// Returns whether an address can be listened on, as far as that shows without
// doing so. Errors: INVALID_ARGUMENT, as ListenOnTcp. Cost: as there.
absl::Status CheckTcpAddress(const std::string& address,
                             absl::string_view option = "--listen-tcp");

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TCP_SOCKET_H_
