#include "server/rpc/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unix_group.h"
#include "server/rpc/socket_lock.h"

namespace wavetune {
namespace {

absl::Status ErrnoStatus(const std::string& what, int error) {
  if (OutOfDescriptors(error)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": ", std::strerror(error), kMoreDescriptors));
  }
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

// Gives a socket that nobody may connect to yet to a group.
absl::Status GiveToGroup(const std::string& path, gid_t group) {
  if (::lchown(path.c_str(), static_cast<uid_t>(-1), group) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  const std::string name = GroupName(group);
  return absl::PermissionDeniedError(absl::StrCat(
      "cannot give ", path, " to group ", name, ": ", std::strerror(error),
      ". Add the daemon's user to it (usermod -aG ", name,
      " USER, or SupplementaryGroups=", name,
      " in its unit), or name a group that it is in"));
}

}  // namespace

absl::Status CheckSocketPath(const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path \"", path, "\" must have 1 to ",
                     sizeof(sockaddr_un::sun_path) - 1,
                     " characters: choose another --socket-dir"));
  }
  // gRPC takes a target for a URI, and a list of endpoints is cut at commas.
  if (const size_t at = path.find_first_of("#?%,"); at != path.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path \"", path, "\" has a '", path.substr(at, 1),
                     "', with which no client reaches it: choose another "
                     "--socket-dir, without any of # ? % and comma"));
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return ErrnoStatus(absl::StrCat("cannot look at ", path), errno);
  }
  if (S_ISSOCK(info.st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, " exists and is no socket: remove it or choose another path"));
}

absl::Status PrepareSocketPath(const std::string& path) {
  RETURN_IF_ERROR(CheckSocketPath(path));
  RETURN_IF_ERROR(MakeSocketFolder(path));
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

absl::StatusOr<ListeningSocket> ListeningSocket::Listen(
    const std::string& path, mode_t mode, std::optional<gid_t> group) {
  // As many may wait as the system allows; it takes what is too much for less.
  constexpr int kBacklog = 4096;
  const auto failed = [&path](absl::string_view what) {
    const int error = errno;
    const std::string doing =
        absl::StrCat("cannot listen on ", path, ": ", what);
    if (OutOfDescriptors(error)) return ErrnoStatus(doing, error);
    return absl::PermissionDeniedError(absl::StrCat(
        doing, ": ", std::strerror(error),
        ". Check the folder's permissions and free space, or choose another "
        "--socket-dir"));
  };
  ListeningSocket socket;
  socket.path_ = path;
  socket.mode_ = mode;
  socket.group_ = group;
  socket.fd_ = FileDescriptor(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.fd_.valid()) return failed("socket");
  // The file that bind makes has at most the socket's own mode: with none,
  // nobody connects before chmod.
  if (::fchmod(socket.fd(), 0) != 0) return failed("mode");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address),
             sizeof(address)) != 0) {
    return failed("bind");
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return failed("look");
  socket.device_ = info.st_dev;
  socket.inode_ = info.st_ino;
  if (::listen(socket.fd(), kBacklog) != 0) return failed("listen");
  if (group) RETURN_IF_ERROR(GiveToGroup(path, *group));
  if (::chmod(path.c_str(), mode) != 0) return failed("mode");
  return socket;
}

ListeningSocket ListeningSocket::WithoutFile(FileDescriptor fd,
                                             std::string name) {
  ListeningSocket socket;
  socket.path_ = std::move(name);
  socket.has_file_ = false;
  socket.fd_ = std::move(fd);
  return socket;
}

ListeningSocket::~ListeningSocket() { Remove(); }

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      has_file_(other.has_file_),
      mode_(other.mode_),
      group_(other.group_),
      fd_(std::move(other.fd_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  path_ = std::exchange(other.path_, "");
  has_file_ = other.has_file_;
  mode_ = other.mode_;
  group_ = other.group_;
  fd_ = std::move(other.fd_);
  device_ = other.device_;
  inode_ = std::exchange(other.inode_, 0);
  return *this;
}

bool ListeningSocket::InPlace() const {
  if (!has_file_) return fd_.valid();
  struct stat info {};
  return inode_ != 0 && ::lstat(path_.c_str(), &info) == 0 &&
         info.st_dev == device_ && info.st_ino == inode_;
}

absl::Status ListeningSocket::ListenAgain() {
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("something else is at ", path_, ": remove it"));
  }
  absl::StatusOr<ListeningSocket> again = Listen(path_, mode_, group_);
  if (!again.ok()) return again.status();
  *this = *std::move(again);
  return absl::OkStatus();
}

void ListeningSocket::Remove() {
  if (has_file_ && InPlace()) ::unlink(path_.c_str());
  inode_ = 0;
  fd_.Close();
}

}  // namespace wavetune
