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

absl::Status AlreadyThere(const std::string& path) {
  return absl::AlreadyExistsError(
      absl::StrCat(path, " exists; name another folder, or give --force"));
}

// "out/" names "out".
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

absl::Status CheckExportFolder(const std::string& path, bool replace) {
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
  const absl::Status status = WriteFolderAtomically(path, files, replace);
  // Somebody else wrote it since.
  return absl::IsAlreadyExists(status) ? AlreadyThere(WithoutSlash(path))
                                       : status;
}

}  // namespace wavetune
