// Socket paths: where daemon, agent and clients meet when nobody says where.
//
// Why here: the three share nothing but the wire, and a rule written three
// times would be three rules.
//
// A system daemon (root, or the unit that passes --socket-dir) listens in
// /run/wavetune. A user's own listens in $XDG_RUNTIME_DIR/wavetune, or where
// that is not set in /tmp/wavetune-<uid>. That one is private: anybody may
// write in /tmp, so a folder there that is not ours alone is refused.
//
// Thread safety: functions; they read the environment.
#ifndef WAVETUNE_BASE_SOCKET_PATHS_H_
#define WAVETUNE_BASE_SOCKET_PATHS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// What the rule depends on.
struct SocketSurroundings {
  // Returns those of this process. Cannot fail.
  static SocketSurroundings OfThisProcess();

  bool root = false;
  std::string runtime_dir;  // $XDG_RUNTIME_DIR; may be empty.
  std::string private_dir;  // /tmp/wavetune-<uid>
  std::string system_dir = "/run/wavetune";
};

// Returns the folder in which a server of this user makes its sockets. Cannot
// fail.
std::string DefaultSocketDir(
    const SocketSurroundings& around = SocketSurroundings::OfThisProcess());

// Returns the path of the socket of a role ("reader", "agent") that a client of
// this user connects to. It is the user's own if it is there, else the system's
// if it is there and open to this user. Else it is the user's own, whose daemon
// may start later. An unsafe private folder counts as not there. Cannot fail.
std::string DefaultSocketPath(
    absl::string_view role,
    const SocketSurroundings& around = SocketSurroundings::OfThisProcess());

// Makes the private folder where `dir` is it; other folders are left alone.
// Errors: as MakePrivateDir.
absl::Status PrepareSocketDir(
    const std::string& dir,
    const SocketSurroundings& around = SocketSurroundings::OfThisProcess());

// Makes a folder with mode 0700 where none is. Errors: PERMISSION_DENIED where
// it cannot be made, is a link or no folder, belongs to another user, or its
// group or everybody may write to it.
absl::Status MakePrivateDir(const std::string& dir);

// Errors: as MakePrivateDir, and where there is none.
absl::Status CheckPrivateDir(const std::string& dir);

// Which endpoints are legal, for messages.
inline constexpr absl::string_view kLegalEndpoints =
    "the path of a socket (at most 107 characters), unix:/path or host:port "
    "([address]:port of IPv6), without a scheme like http://";

// Returns whether a gRPC target is one of these. gRPC would take
// "tcp://host:1" for the name of a host, and look it up until the deadline.
bool IsEndpoint(absl::string_view target);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_SOCKET_PATHS_H_
