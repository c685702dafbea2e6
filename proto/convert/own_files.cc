#include "proto/convert/own_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::Status CheckOwn(const std::string& path, const struct stat& info,
                      StickyFolder sticky) {
  const uid_t user = ::geteuid();
  if (info.st_uid != 0 && info.st_uid != user) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, " belongs to user ", info.st_uid, ", who could change what user ",
        user, " uses it for: chown ", user == 0 ? "root" : absl::StrCat(user),
        " ", path, " (or give it to root)"));
  }
  const bool others_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool is_sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if (others_write && !(is_sticky && sticky == StickyFolder::kAllowed)) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s can be written by others (mode %04o), who could change what it is "
        "used for: chmod go-w %s",
        path, info.st_mode & 07777, path));
  }
  return absl::OkStatus();
}

absl::Status CheckOwnFolder(const std::string& path, StickyFolder sticky) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot look at ", path, ": ", std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no folder"));
  }
  return CheckOwn(path, info, sticky);
}

absl::Status MakeOwnFolder(const std::string& path) {
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", path, ": ", std::strerror(errno)));
  }
  return CheckOwnFolder(path, StickyFolder::kRefused);
}

absl::StatusOr<std::string> PathWithin(const std::string& folder,
                                       const std::string& name) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path path =
      error ? fs::path() : fs::canonical(fs::path(folder) / name, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("cannot read ", folder, "/", name, ": ", error.message()));
  }
  const auto [in_root, rest] =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (in_root == root.end() && rest != path.end()) return path.string();
  return absl::PermissionDeniedError(
      absl::StrCat(folder, "/", name, " leads to ", path.string(),
                   ", out of the folder: put a copy in its place"));
}

}  // namespace wavetune
