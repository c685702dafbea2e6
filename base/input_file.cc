#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/own_files.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

absl::Status CannotRead(const std::string& path, int error) {
  const std::string text =
      absl::StrCat("cannot read ", path, ": ", std::strerror(error));
  switch (error) {
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case EMFILE:
    case ENFILE:
      return absl::UnavailableError(
          absl::StrCat(text, ": raise the limit on open files (ulimit -n)"));
    case ELOOP:
      return absl::PermissionDeniedError(
          absl::StrCat(path, " is a link: put the file in its place"));
    case ENXIO:  // A socket's file.
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is a socket, not a file"));
    default:
      return absl::NotFoundError(text);
  }
}

const char* KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "directory";
  if (S_ISFIFO(mode)) return "pipe";
  if (S_ISSOCK(mode)) return "socket";
  return "device";
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path,
                                          InputKind kind) {
  const bool waits = kind == InputKind::kFileOrPipe;
  const bool own = kind == InputKind::kOwnFile;
  // Opening a pipe waits for a writer without O_NONBLOCK; a file does not care.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY |
                                                  (waits ? 0 : O_NONBLOCK) |
                                                  (own ? O_NOFOLLOW : 0));
  if (descriptor < 0) return CannotRead(path, errno);
  InputFile file(descriptor);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return CannotRead(path, errno);
  if (own) RETURN_IF_ERROR(CheckOwn(path, info));
  if (S_ISREG(info.st_mode)) return file;
  if (waits && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) return file;
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is a ", KindName(info.st_mode),
                   ", not a file: put a file in its place"));
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(other.Release()) {}

int InputFile::Release() { return std::exchange(descriptor_, -1); }

absl::StatusOr<std::string> ReadInputFile(const std::string& path,
                                          size_t max_bytes, InputKind kind) {
  ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path, kind));
  std::string content;
  std::string chunk(std::min(max_bytes, size_t{1} << 16) + 1, '\0');
  for (;;) {
    const ssize_t count = ::read(file.descriptor(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
    if (count == 0) return content;
    content.append(chunk, 0, static_cast<size_t>(count));
    if (content.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    }
  }
}

absl::StatusOr<std::string> ReadOwnInputFile(const std::string& path,
                                             size_t max_bytes) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return CannotRead(path, error.value());
  RETURN_IF_ERROR(CheckOwnWay(path));
  return ReadInputFile(real, max_bytes, InputKind::kOwnFile);
}

absl::Status AtPath(const absl::Status& status, absl::string_view path) {
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace wavetune
