// Unix sockets as files: who may connect is a matter of their modes.
#ifndef WAVETUNE_SERVER_UNIX_SOCKET_H_
#define WAVETUNE_SERVER_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace wavetune {

// Makes `path` free to listen on: makes its folder, removes the socket that a
// dead daemon left. Errors: ALREADY_EXISTS where a process listens there;
// FAILED_PRECONDITION where the file is no socket; INVALID_ARGUMENT for a path
// too long for a socket; PERMISSION_DENIED. Each says what to do.
absl::Status PrepareSocketPath(const std::string& path);

// Sets the mode of a socket that listens. Until then it has what the umask
// leaves: bind it under one that shuts everyone else out. Errors:
// PERMISSION_DENIED.
absl::Status SetSocketMode(const std::string& path, mode_t mode);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_UNIX_SOCKET_H_
