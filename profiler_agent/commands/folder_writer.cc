#include "profiler_agent/commands/folder_writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

absl::Status Fault(const std::string& path, int error) {
  const std::string text =
      absl::StrCat("cannot write ", path, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:  // A limit of the process.
      return absl::ResourceExhaustedError(absl::StrCat(
          text, "; free some space, or name a folder on another disk"));
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::Status AlreadyThere(const std::string& path) {
  return absl::AlreadyExistsError(
      absl::StrCat(path, " exists; name another folder, or give --force"));
}

// "out/" names "out".
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The ending signals wait: between writing and renaming they would leave files.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&ending, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

// A folder of our own beside the target; removed with all that is in it.
class Staging {
 public:
  explicit Staging(const std::string& target)
      : path_(absl::StrCat(target, ".XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr) error_ = errno;
  }
  ~Staging() {
    std::error_code ignored;
    if (error_ == 0) fs::remove_all(path_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int error_ = 0;
};

// On the disk when it returns: a crash must not leave empty files in a folder
// that is published.
absl::Status WriteFile(const std::string& path, absl::string_view content) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return Fault(path, errno);
  int error = 0;
  while (error == 0 && !content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error == 0 ? absl::OkStatus() : Fault(path, error);
}

// mkdtemp makes folders for the owner alone.
mode_t ModeOfNewFolders() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0777 & ~mask;
}

// Puts `staged` at `path`; what was there is then at `staged`. In one step, so
// that a reader always finds one of the two.
absl::Status Publish(const std::string& staged, const std::string& path,
                     bool replace) {
  if (::rename(staged.c_str(), path.c_str()) == 0) return absl::OkStatus();
  if (errno != ENOTEMPTY && errno != EEXIST) return Fault(path, errno);
  // Somebody else wrote it since CheckFolderTarget.
  if (!replace) return AlreadyThere(path);
  if (::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, path.c_str(),
                  RENAME_EXCHANGE) == 0) {
    return absl::OkStatus();
  }
  return Fault(path, errno);
}

}  // namespace

absl::Status CheckFolderTarget(const std::string& path,
                               const std::string& marker, bool replace) {
  if (path.empty()) {
    return absl::InvalidArgumentError("the folder to write to has no name");
  }
  std::error_code error;
  const fs::path target = WithoutSlash(path);
  const fs::path parent =
      target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, error)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no folder ", parent.string(), "; make it first"));
  }
  if (fs::symlink_status(target, error).type() == fs::file_type::not_found) {
    return absl::OkStatus();
  }
  if (!replace) return AlreadyThere(target.string());
  if (fs::is_directory(fs::symlink_status(target, error)) &&
      (fs::exists(target / marker, error) || fs::is_empty(target, error))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(target.string(), " has no ", marker,
                   ", so --force does not replace it: remove it yourself"));
}

absl::Status WriteFolder(const std::string& path,
                         const std::map<std::string, std::string>& files,
                         const std::string& marker, bool replace) {
  RETURN_IF_ERROR(CheckFolderTarget(path, marker, replace));
  const std::string target = WithoutSlash(path);
  const SignalsHeld held;
  const Staging staging(target);
  if (staging.error() != 0) return Fault(staging.path(), staging.error());
  for (const auto& [name, content] : files) {
    RETURN_IF_ERROR(
        WriteFile(absl::StrCat(staging.path(), "/", name), content));
  }
  if (::chmod(staging.path().c_str(), ModeOfNewFolders()) != 0) {
    return Fault(staging.path(), errno);
  }
  return Publish(staging.path(), target, replace);
}

}  // namespace wavetune
