#include "cli/report/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace wavetune::cli {
namespace {

absl::Status Fault(const std::string& path, int error) {
  const std::string text =
      absl::StrCat("cannot write ", path, ": ", std::strerror(error));
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(text);
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

// mkstemp makes files for the owner alone; a report is for whoever the user's
// umask lets read.
mode_t ModeOfNewFiles() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string staging, int descriptor)
    : path_(std::move(path)),
      staging_(std::move(staging)),
      descriptor_(descriptor) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!staging_.empty()) ::unlink(staging_.c_str());
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Open(
    const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty())
    return absl::InvalidArgumentError("the path to write to is empty");
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  // A rename would put a file in the place of /dev/null.
  if (fs::exists(there) && !fs::is_regular_file(there))
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no regular file; name one"));
  // Nor does it go through a link.
  if (fs::is_symlink(path, error) && fs::exists(there))
    return Open(fs::canonical(path, error).string());
  std::string staging = absl::StrCat(path, ".XXXXXX");
  const int descriptor = ::mkostemp(staging.data(), O_CLOEXEC);
  if (descriptor < 0) return Fault(path, errno);
  return std::unique_ptr<OutputFile>(
      new OutputFile(path, std::move(staging), descriptor));
}

absl::Status OutputFile::Commit(absl::string_view content) {
  while (!content.empty()) {
    const ssize_t written =
        ::write(descriptor_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fault(path_, errno);
    content.remove_prefix(static_cast<size_t>(written));
  }
  // On the disk before the rename: a crash must not leave an empty report.
  if (::fchmod(descriptor_, ModeOfNewFiles()) != 0 ||
      ::fsync(descriptor_) != 0 ||
      std::rename(staging_.c_str(), path_.c_str()) != 0)
    return Fault(path_, errno);
  staging_.clear();
  return absl::OkStatus();
}

}  // namespace wavetune::cli
