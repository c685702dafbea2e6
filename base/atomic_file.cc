#include "base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// Calls `make` with names beside `path` until it returns 0 or another error
// than that the name is taken. Returns that, and the name.
template <typename Make>
int MakeBeside(const fs::path& path, const Make& make, std::string& name) {
  std::random_device random;
  int error = EEXIST;
  while (error == EEXIST) {
    name = (path.parent_path() /
            absl::StrFormat(".%s.%08x", path.filename().string(),
                            static_cast<uint32_t>(random())))
               .string();
    error = make(name.c_str());
  }
  return error;
}

// Not by mkstemp, whose files are for the owner alone: only setting the umask,
// which is the whole process's, would tell what others may do with them.
int MakeFileBeside(const std::string& path, mode_t mode, std::string& name,
                   int& descriptor) {
  const auto make = [&](const char* file) {
    descriptor = ::open(
        file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return descriptor < 0 ? errno : 0;
  };
  return MakeBeside(path, make, name);
}

int WriteAll(int descriptor, absl::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int WriteAndClose(FileDescriptor& file, absl::string_view content) {
  const int written = WriteAll(file.get(), content);
  const int closed = ::close(file.Release()) == 0 ? 0 : errno;
  return written != 0 ? written : closed;
}

int Rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Puts a file or a folder onto the disk, so that a rename never comes first.
absl::Status Sync(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // One that may be written to, but not be read.
  if (!file.valid() && errno == EACCES) return absl::OkStatus();
  if (!file.valid()) return FileError("cannot open", path, errno);
  // Some file systems cannot sync a folder.
  if (::fsync(file.get()) == 0 || errno == EINVAL) return absl::OkStatus();
  return FileError("cannot write", path, errno);
}

// Exchanges two paths, in one step where the file system can.
absl::Status Exchange(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_EXCHANGE) == 0) {
    return absl::OkStatus();
  }
  const std::string aside = absl::StrCat(from, ".old");
  if (const int error = Rename(to, aside); error != 0)
    return FileError("cannot replace", to, error);
  if (const int error = Rename(from, to); error != 0) {
    Rename(aside, to);
    return FileError("cannot replace", to, error);
  }
  if (const int error = Rename(aside, from); error != 0)
    return FileError("cannot remove", aside, error);
  return absl::OkStatus();
}

// Returns the path that does not depend on the working folder, and ends in the
// folder's own name.
fs::path PlaceOf(const std::string& path) {
  std::error_code error;
  fs::path place = fs::absolute(path, error);
  if (!place.has_filename()) place = place.parent_path();  // A trailing slash.
  if (place.filename() == "." || place.filename() == "..")
    place = fs::canonical(place, error);
  return place;
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

}  // namespace

absl::Status FileError(absl::string_view what, absl::string_view path,
                       int error) {
  const std::string message =
      absl::StrCat(what, " ", path, ": ", std::strerror(error));
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(
          absl::StrCat(message, "; choose a folder that you may write to"));
    case ENOENT:
      return absl::NotFoundError(
          absl::StrCat(message, "; make the folder around it first"));
    case ENOTDIR:
      return absl::FailedPreconditionError(
          absl::StrCat(message, "; choose a path whose parents are folders"));
    case ENOSPC:
    case EDQUOT:
    case EFBIG:  // A limit of the process.
      return absl::ResourceExhaustedError(absl::StrCat(
          message, "; free some space, or choose a folder on another disk"));
    default:
      return absl::InternalError(message);
  }
}

std::error_code WriteFileAtomically(const std::string& path,
                                    absl::string_view content) {
  std::string staging;
  int descriptor = -1;
  // Not writable by a group, whatever the umask: CheckOwn would refuse it.
  int error = MakeFileBeside(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH,
                             staging, descriptor);
  if (error != 0) return {error, std::generic_category()};
  FileDescriptor file(descriptor);
  error = WriteAndClose(file, content);
  if (error == 0) error = Rename(staging, path);
  if (error != 0) ::unlink(staging.c_str());
  return {error, std::generic_category()};
}

absl::StatusOr<std::unique_ptr<StagedFile>> StagedFile::Open(
    const std::string& path) {
  if (path.empty())
    return absl::InvalidArgumentError("the path to write to is empty");
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  // A rename would put a file in the place of /dev/null.
  if (fs::exists(there) && !fs::is_regular_file(there))
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no regular file; name one"));
  // Nor does it go through a link.
  if (fs::is_symlink(path, ignored) && fs::exists(there))
    return Open(fs::canonical(path, ignored).string());
  std::string staging;
  int descriptor = -1;
  const int error = MakeFileBeside(path, 0666, staging, descriptor);
  if (error != 0) return FileError("cannot write", path, error);
  return std::unique_ptr<StagedFile>(
      new StagedFile(path, std::move(staging), descriptor));
}

StagedFile::~StagedFile() {
  if (!staging_.empty()) ::unlink(staging_.c_str());
}

absl::Status StagedFile::Commit(absl::string_view content) {
  int error = WriteAll(file_.get(), content);
  if (error == 0 && ::fsync(file_.get()) != 0) error = errno;
  if (error == 0) error = Rename(staging_, path_);
  if (error != 0) return FileError("cannot write", path_, error);
  staging_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StagedFolder>> StagedFolder::Open(
    const std::string& path) {
  const fs::path place = PlaceOf(path);
  std::string staging;
  const int error = MakeBeside(
      place,
      [](const char* name) { return ::mkdir(name, 0777) == 0 ? 0 : errno; },
      staging);
  if (error != 0)
    return FileError("cannot write into", place.parent_path().string(), error);
  return std::unique_ptr<StagedFolder>(
      new StagedFolder(place.string(), std::move(staging)));
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

absl::Status StagedFolder::Write(const std::string& name,
                                 absl::string_view content) {
  const std::string path = absl::StrCat(staging_, "/", name);
  FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return FileError("cannot write", path, errno);
  const int error = WriteAndClose(file, content);
  return error == 0 ? absl::OkStatus() : FileError("cannot write", path, error);
}

absl::Status StagedFolder::Publish(bool replace) {
  std::error_code error;
  fs::directory_iterator entry(staging_, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    RETURN_IF_ERROR(Sync(entry->path().string()));
  }
  if (error) return FileError("cannot read", staging_, error.value());
  RETURN_IF_ERROR(Sync(staging_));
  switch (const int failed = Rename(staging_, path_); failed) {
    case 0:
      break;
    case ENOTEMPTY:
    case EEXIST:
    case ENOTDIR:  // A link or a file is there.
      if (!replace)
        return absl::AlreadyExistsError(
            absl::StrCat(path_, " exists; choose another folder"));
      RETURN_IF_ERROR(Exchange(staging_, path_));
      break;
    default:
      return FileError("cannot write", path_, failed);
  }
  return Sync(fs::path(path_).parent_path().string());
}

absl::Status CheckNewFolder(const std::string& path,
                            absl::string_view otherwise) {
  std::error_code error;
  fs::path place = path;
  if (!place.has_filename()) place = place.parent_path();
  const fs::path parent =
      place.has_parent_path() ? place.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, error)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no folder ", parent.string(), "; make it first"));
  }
  if (fs::symlink_status(place, error).type() == fs::file_type::not_found) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(place.string(), " exists; ", otherwise));
}

absl::Status WriteFolderAtomically(
    const std::string& path, const std::map<std::string, std::string>& files,
    bool replace) {
  const SignalsHeld held;
  ASSIGN_OR_RETURN(const std::unique_ptr<StagedFolder> folder,
                   StagedFolder::Open(path));
  for (const auto& [name, content] : files) {
    RETURN_IF_ERROR(folder->Write(name, content));
  }
  return folder->Publish(replace);
}

}  // namespace wavetune
