// Unix sockets as files: who may connect is a matter of their modes.
#ifndef WAVETUNE_SERVER_RPC_UNIX_SOCKET_H_
#define WAVETUNE_SERVER_RPC_UNIX_SOCKET_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_descriptor.h"

namespace wavetune {

// Makes `path` free to listen on: makes its folder, removes the socket that a
// dead daemon left. Only who holds its SocketLock may call it. Errors:
// ALREADY_EXISTS where a process listens there; FAILED_PRECONDITION where the
// file is no socket; INVALID_ARGUMENT for a path too long for a socket;
// RESOURCE_EXHAUSTED without descriptors; PERMISSION_DENIED. Each says what to
// do.
absl::Status PrepareSocketPath(const std::string& path);

// Returns whether a socket can be made at `path`, as far as that shows without
// doing so: by its length, and by the file there. Errors: INVALID_ARGUMENT,
// FAILED_PRECONDITION and PERMISSION_DENIED, as PrepareSocketPath.
absl::Status CheckSocketPath(const std::string& path);

// A socket that listens, and its file where it has one. Movable.
class ListeningSocket {
 public:
  ListeningSocket() = default;  // Listens nowhere.
  // Binds `path` and listens there with `mode`, for `group` where one is given,
  // else for the process's: nobody may connect before the file has both.
  // Errors: PERMISSION_DENIED, also for a group that the process is not in; or
  // RESOURCE_EXHAUSTED without descriptors; saying what to do.
  static absl::StatusOr<ListeningSocket> Listen(
      const std::string& path, mode_t mode,
      std::optional<gid_t> group = std::nullopt);
  // Returns one that listens already and has no file: over TCP. `name` is its
  // path().
  static ListeningSocket WithoutFile(FileDescriptor fd, std::string name);
  // Stops listening, and removes the file where it is still this socket's:
  // another daemon's is not touched.
  ~ListeningSocket();
  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

  // Whether `path` still leads to this socket; one without a file is in place.
  bool InPlace() const;
  // Listens at `path` anew, where nothing is there. Errors: ALREADY_EXISTS
  // where something is; as Listen. Then this socket stays as it is.
  absl::Status ListenAgain();

 private:
  void Remove();

  std::string path_;
  bool has_file_ = true;
  mode_t mode_ = 0;
  std::optional<gid_t> group_;
  FileDescriptor fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_UNIX_SOCKET_H_
