// Why nobody answers at a socket, in words that say what to do.
//
// gRPC says "failed to connect to all addresses" whether the daemon is down,
// the path is wrong or the user may not connect; the kernel knows which.
//
// Thread safety: a pure function of the socket's present state; it connects
// once.
#ifndef WAVETUNE_BASE_SOCKET_DIAGNOSIS_H_
#define WAVETUNE_BASE_SOCKET_DIAGNOSIS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

struct SocketDiagnosis {
  enum class Kind {
    kUnknown,       // No unix socket: nothing can be said.
    kNoSocket,      // Nothing is there.
    kNobody,        // Its process has ended.
    kNoPermission,  // This user may not connect.
    kRefused,       // The daemon takes no more connections, and says why.
    kSilent,        // Somebody is there, but did not answer in time.
  };
  Kind kind = Kind::kUnknown;
  // A clause without a full stop; empty for kUnknown. For kNoPermission whose
  // the socket is and how to get the right.
  std::string text;
};

// Looks at a gRPC target like "unix:/run/wavetune/admin.sock" that did not
// answer. `system_dir`: where a system daemon's sockets are. Cannot fail. Cost:
// a connection, and up to 50 ms where it is taken.
SocketDiagnosis DiagnoseSocket(absl::string_view target,
                               const std::string& system_dir = "/run/wavetune");

}  // namespace wavetune

#endif  // WAVETUNE_BASE_SOCKET_DIAGNOSIS_H_
