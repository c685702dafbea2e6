#include "profiler_agent/commands/export_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status_macros.h"
#include "launch/launch_file.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr char kOtherwise[] = "name another folder, or give --force";

// "link/" would be what the link leads to.
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

absl::Status CheckExportFolder(const std::string& path, bool replace) {
  if (path.empty()) {
    return absl::InvalidArgumentError("the folder to write to has no name");
  }
  absl::Status fresh = CheckNewFolder(path, kOtherwise);
  if (!absl::IsAlreadyExists(fresh) || !replace) return fresh;
  std::error_code error;
  const fs::path target = WithoutSlash(path);
  if (fs::is_directory(fs::symlink_status(target, error)) &&
      (fs::exists(target / kLaunchFileName, error) ||
       fs::is_empty(target, error))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(target.string(), " has no ", kLaunchFileName,
                   ", so --force does not replace it: remove it yourself"));
}

absl::Status WriteExportFolder(const std::string& path,
                               const std::map<std::string, std::string>& files,
                               bool replace) {
  RETURN_IF_ERROR(CheckExportFolder(path, replace));
  absl::Status status = WriteFolderAtomically(path, files, replace);
  if (!absl::IsAlreadyExists(status)) return status;
  // Somebody else wrote it since.
  return absl::AlreadyExistsError(
      absl::StrCat(WithoutSlash(path), " exists; ", kOtherwise));
}

}  // namespace wavetune
