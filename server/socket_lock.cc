#include "server/socket_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "model/status_macros.h"

namespace wavetune {
namespace {

absl::Status CannotLock(const std::string& path, int error) {
  return absl::PermissionDeniedError(
      absl::StrCat("cannot lock ", path, ": ", std::strerror(error),
                   ". Give the daemon's user write access to the folder, or "
                   "choose another --socket-dir"));
}

// Another user's lock can be looked at at least.
int OpenLock(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | kFlags,
                                S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (descriptor >= 0 || errno != EACCES) return descriptor;
  return ::open(path.c_str(), O_RDONLY | kFlags);
}

// Whether the file that was locked is the one that others will find.
bool IsInPlace(int descriptor, const std::string& path) {
  struct stat ours {};
  struct stat found {};
  return ::fstat(descriptor, &ours) == 0 &&
         ::lstat(path.c_str(), &found) == 0 && ours.st_dev == found.st_dev &&
         ours.st_ino == found.st_ino;
}

// Returns the process that wrote its name into the lock; 0 for none.
pid_t WrittenPid(int descriptor) {
  char text[32] = {};
  const ssize_t count = ::pread(descriptor, text, sizeof(text) - 1, 0);
  pid_t pid = 0;
  const absl::string_view written(text,
                                  count > 0 ? static_cast<size_t>(count) : 0);
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(written), &pid) ? pid : 0;
}

// Who has just taken the lock has not written its name yet: there is none, or
// that of a holder that was killed.
pid_t HolderOf(int descriptor) {
  constexpr int kLooks = 100;
  constexpr std::chrono::milliseconds kBetweenLooks{10};
  pid_t pid = 0;
  for (int i = 0; i < kLooks; ++i) {
    pid = WrittenPid(descriptor);
    if (pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM)) return pid;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return pid;  // Of another container, perhaps.
}

absl::Status InUse(int descriptor, const std::string& socket_path) {
  const pid_t pid = HolderOf(descriptor);
  return absl::AlreadyExistsError(absl::StrCat(
      "a daemon already listens on ", socket_path, " or is about to",
      pid <= 0 ? "" : absl::StrCat(" (pid ", pid, ")"),
      ": stop it first, or choose another --socket-dir"));
}

}  // namespace

absl::Status MakeSocketFolder(const std::string& socket_path) {
  const std::filesystem::path folder =
      std::filesystem::path(socket_path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot make the socket folder ", folder.string(), ": ",
                   error.message(), ". Choose another --socket-dir"));
}

absl::StatusOr<SocketLock> SocketLock::Take(const std::string& socket_path) {
  RETURN_IF_ERROR(MakeSocketFolder(socket_path));
  const std::string path = socket_path + ".lock";
  for (;;) {
    const int descriptor = OpenLock(path);
    if (descriptor < 0) return CannotLock(path, errno);
    SocketLock lock(descriptor);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      return errno == EWOULDBLOCK ? InUse(descriptor, socket_path)
                                  : CannotLock(path, errno);
    }
    // Somebody removed it meanwhile, and a third may hold what is there now.
    if (!IsInPlace(descriptor, path)) continue;
    const std::string pid = absl::StrCat(::getpid(), "\n");
    if (::ftruncate(descriptor, 0) != 0 ||
        ::pwrite(descriptor, pid.data(), pid.size(), 0) !=
            static_cast<ssize_t>(pid.size())) {
      // The lock holds without it; only a message is shorter.
    }
    return lock;
  }
}

SocketLock::~SocketLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

SocketLock::SocketLock(SocketLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace wavetune
