// SocketLock: the right to listen at a path, for as long as the object lives.
//
// To look whether a socket is in use, to remove a dead one and to bind are
// three steps; two daemons that take them side by side both listen. The lock on
// "PATH.lock" is one step, and ends with the process however it ends. The file
// stays: to remove it would be to remove the lock of whoever comes next. Only
// its owner can open it, so nobody else can hold it.
//
//   ASSIGN_OR_RETURN(SocketLock lock, SocketLock::Take("/run/x/reader.sock"));
//   RETURN_IF_ERROR(PrepareSocketPath("/run/x/reader.sock"));
//   ... listen ...
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_SOCKET_LOCK_H_
#define WAVETUNE_SERVER_RPC_SOCKET_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_descriptor.h"

namespace wavetune {

class SocketLock {
 public:
  // Makes the folder where it is missing. Errors: ALREADY_EXISTS with the pid
  // of whoever holds the lock, for which it waits a second at most;
  // PERMISSION_DENIED, also where the file is another user's;
  // RESOURCE_EXHAUSTED without descriptors. Each says what to do. Where the
  // file system has no locks the log says so, and nothing is held.
  static absl::StatusOr<SocketLock> Take(const std::string& socket_path);

 private:
  explicit SocketLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;  // The lock ends with it.
};

// Makes the folder of a socket, with those above it, in which only this user
// can write, whatever the mask of the process is. Who can write in it can put a
// socket of his own in the daemon's place. Errors: PERMISSION_DENIED, saying
// what to do, also where others can write in a folder that is there (and it is
// not sticky, as /tmp), or own it.
absl::Status MakeSocketFolder(const std::string& socket_path);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_SOCKET_LOCK_H_
