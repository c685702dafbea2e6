#include "server/rpc/socket_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/own_files.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr mode_t kOthersRead = 0755;

absl::Status CannotLock(const std::string& path, int error) {
  if (OutOfDescriptors(error)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot lock ", path, ": ", std::strerror(error), kMoreDescriptors));
  }
  return absl::PermissionDeniedError(
      absl::StrCat("cannot lock ", path, ": ", std::strerror(error),
                   ". Give the daemon's user write access to the folder, or "
                   "choose another --socket-dir"));
}

// Whether the file system, or the system, has no such locks.
bool HasNoLocks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP ||
         error == EINVAL;
}

// Once for the sockets of a folder.
void SayUnlocked(const std::string& path, int error) {
  LogOfKind(LogLevel::kWarning, "socket", "no locks",
            absl::StrCat("cannot lock ", path, ": ", std::strerror(error),
                         ". Nothing keeps two daemons that start at once from "
                         "listening there: put --socket-dir on a file system "
                         "with locks (/run is one)"));
}

// Locks the whole file for this descriptor: with F_WRLCK, which needs write
// access, or F_RDLCK. Another user's flock does not matter to it.
bool Lock(int descriptor, int command, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, command, &whole) == 0;
}

// Returns the kind of lock that keeps this descriptor from writing; F_UNLCK for
// none.
short HeldBy(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_GETLK, &whole) == 0 ? whole.l_type : F_WRLCK;
}

// Opens a lock file of this user's that nobody else can open from now on: a
// lock on a file that others can read is a lock that others can hold.
absl::StatusOr<FileDescriptor> OpenLock(const std::string& path) {
  FileDescriptor file(::open(
      path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
      kOwnerOnly));
  const int error = errno;
  struct stat info {};
  if (file.valid() ? ::fstat(file.get(), &info) != 0
                   : ::lstat(path.c_str(), &info) != 0) {
    return CannotLock(path, error);
  }
  if (info.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the lock file ", path, " is of user ", info.st_uid,
        ", not of the daemon's user ", ::geteuid(),
        ": remove it where no daemon of that user runs, or choose another "
        "--socket-dir"));
  }
  if (!file.valid()) return CannotLock(path, error);
  if ((info.st_mode & 07777) != kOwnerOnly &&
      ::fchmod(file.get(), kOwnerOnly) != 0) {
    return CannotLock(path, errno);
  }
  return file;
}

// Whether the file that was locked is the one that others will find.
bool IsInPlace(int descriptor, const std::string& path) {
  struct stat ours {};
  struct stat found {};
  return ::fstat(descriptor, &ours) == 0 &&
         ::lstat(path.c_str(), &found) == 0 && ours.st_dev == found.st_dev &&
         ours.st_ino == found.st_ino;
}

// Removes the lock file where somebody holds it for reading, which no daemon
// does: who opened it before only its owner could. One process removes at a
// time, and nobody takes a lock for writing while this one reads: what is
// removed is no daemon's lock.
absl::Status RemoveReadersLock(const std::string& path) {
  const std::string guard_path = path + ".guard";
  ASSIGN_OR_RETURN(const FileDescriptor guard, OpenLock(guard_path));
  while (!Lock(guard.get(), F_OFD_SETLKW, F_WRLCK)) {
    if (errno != EINTR) return CannotLock(guard_path, errno);
  }
  ASSIGN_OR_RETURN(const FileDescriptor file, OpenLock(path));
  if (!Lock(file.get(), F_OFD_SETLK, F_RDLCK)) return absl::OkStatus();
  if (HeldBy(file.get()) == F_RDLCK && IsInPlace(file.get(), path) &&
      ::unlink(path.c_str()) != 0) {
    return CannotLock(path, errno);
  }
  return absl::OkStatus();
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
// that of a holder that was killed. Returns 0 where no living one is named.
pid_t HolderOf(int descriptor) {
  constexpr int kLooks = 100;
  constexpr std::chrono::milliseconds kBetweenLooks{10};
  for (int i = 0; i < kLooks; ++i) {
    const pid_t pid = WrittenPid(descriptor);
    if (pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM)) return pid;
    SystemClock().Sleep(kBetweenLooks);
  }
  return 0;
}

absl::Status InUse(int descriptor, const std::string& socket_path) {
  const pid_t pid = HolderOf(descriptor);
  return absl::AlreadyExistsError(absl::StrCat(
      "a daemon already listens on ", socket_path, " or is about to",
      pid > 0 ? absl::StrCat(" (pid ", pid, ")")
              : absl::StrCat(" (it holds ", socket_path,
                             ".lock and has not said its pid)"),
      ": stop it first, or choose another --socket-dir"));
}

}  // namespace

absl::Status MakeSocketFolder(const std::string& socket_path) {
  std::filesystem::path folder =
      std::filesystem::path(socket_path).parent_path();
  if (folder.empty()) folder = ".";
  std::filesystem::path made;
  for (const std::filesystem::path& part : folder) {
    made /= part;
    // Not create_directories: without a mask others could write there.
    if (::mkdir(made.c_str(), kOthersRead) == 0 || errno == EEXIST) continue;
    const int error = errno;
    std::error_code ignored;
    // Above a folder that is there there may be what cannot be written.
    if (std::filesystem::is_directory(made, ignored)) continue;
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the socket folder ", folder.string(), ": ",
                     std::strerror(error), ". Choose another --socket-dir"));
  }
  const absl::Status own =
      CheckOwnFolder(folder.string(), StickyFolder::kAllowed);
  if (own.ok()) return own;
  return absl::Status(own.code(),
                      absl::StrCat("the socket folder ", own.message(),
                                   ", or choose another --socket-dir"));
}

absl::StatusOr<SocketLock> SocketLock::Take(const std::string& socket_path) {
  RETURN_IF_ERROR(MakeSocketFolder(socket_path));
  const std::string path = socket_path + ".lock";
  for (;;) {
    ASSIGN_OR_RETURN(FileDescriptor file, OpenLock(path));
    const int descriptor = file.get();
    if (!Lock(descriptor, F_OFD_SETLK, F_WRLCK)) {
      if (HasNoLocks(errno)) {
        SayUnlocked(path, errno);
        return SocketLock(std::move(file));
      }
      if (errno != EAGAIN && errno != EACCES) return CannotLock(path, errno);
      const short held = HeldBy(descriptor);
      if (held == F_WRLCK) return InUse(descriptor, socket_path);
      if (held == F_RDLCK) RETURN_IF_ERROR(RemoveReadersLock(path));
      continue;
    }
    // Somebody removed it meanwhile, and a third may hold what is there now.
    if (!IsInPlace(descriptor, path)) continue;
    const std::string pid = absl::StrCat(::getpid(), "\n");
    if (::ftruncate(descriptor, 0) != 0 ||
        ::pwrite(descriptor, pid.data(), pid.size(), 0) !=
            static_cast<ssize_t>(pid.size())) {
      // The lock holds without it; only a message is shorter.
    }
    return SocketLock(std::move(file));
  }
}

}  // namespace wavetune
