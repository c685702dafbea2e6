#include "server/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

absl::Status ErrnoStatus(const std::string& what, int error) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, ": ", std::strerror(error)));
}

// Returns 0 where a process listens at `path`, else the errno of connecting.
int TryConnect(const std::string& path) {
  const int fd =
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int result =
      ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  const int error = result == 0 ? 0 : errno;
  ::close(fd);
  // A full backlog is a listener, too.
  return error == EAGAIN ? 0 : error;
}

}  // namespace

absl::Status PrepareSocketPath(const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path \"", path, "\" must have 1 to ",
                     sizeof(sockaddr_un::sun_path) - 1,
                     " characters: choose another --socket-dir"));
  }
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the socket folder ", folder.string(), ": ",
                     error.message(), ". Choose another --socket-dir"));
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return ErrnoStatus(absl::StrCat("cannot look at ", path), errno);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " exists and is no socket: remove it or choose another path"));
  }
  const int connected = TryConnect(path);
  if (connected == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("a daemon already listens on ", path,
                     ": stop it first, or choose another --socket-dir"));
  }
  if (connected != ECONNREFUSED && connected != ENOENT) {
    return ErrnoStatus(absl::StrCat("cannot tell whether ", path, " is in use"),
                       connected);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(absl::StrCat("cannot remove the dead socket ", path),
                       errno);
  }
  return absl::OkStatus();
}

absl::Status SetSocketMode(const std::string& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) == 0) return absl::OkStatus();
  return ErrnoStatus(absl::StrCat("cannot set the mode of ", path), errno);
}

}  // namespace wavetune
