#include "base/own_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

// As many as Linux follows.
constexpr int kMostLinks = 40;

// Errors: PERMISSION_DENIED with the chown that helps. A link's own owner is
// given away with -h.
absl::Status CheckOwner(const std::string& path, const struct stat& info) {
  const uid_t user = ::geteuid();
  if (info.st_uid == 0 || info.st_uid == user) return absl::OkStatus();
  const bool is_link = S_ISLNK(info.st_mode);
  return absl::PermissionDeniedError(absl::StrCat(
      path, is_link ? " is a link that belongs to user " : " belongs to user ",
      info.st_uid, ", who could change what user ", user,
      " uses it for: chown ", is_link ? "-h " : "",
      user == 0 ? "root" : absl::StrCat(user), " ", path,
      " (or give it to root)"));
}

absl::Status CannotLookAt(const std::string& path) {
  return absl::NotFoundError(
      absl::StrCat("cannot look at ", path, ": ", std::strerror(errno)));
}

bool IsIn(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end())
             .first == folder.end();
}

// Goes a path as open() does, and judges what it passes.
class OwnWay {
 public:
  // `folder` is canonical; what is in it is judged.
  OwnWay(const fs::path& folder, const fs::path& name, StickyFolder sticky)
      : folder_(folder),
        sticky_(sticky),
        at_(folder),
        ahead_(name.begin(), name.end()) {}

  absl::Status Go() {
    while (!ahead_.empty()) {
      const fs::path next = at_ / ahead_.front();
      ahead_.pop_front();
      if (absl::Status passed = Pass(next); !passed.ok()) return passed;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Pass(const fs::path& next) {
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0) return CannotLookAt(next);
    if (S_ISLNK(info.st_mode)) return Follow(next, info);
    at_ = next.lexically_normal();  // There is no link left in it.
    // Folders around ours are whose they are.
    if (!S_ISDIR(info.st_mode) || !IsIn(folder_, at_)) return absl::OkStatus();
    return CheckOwn(at_, info, sticky_);
  }

  absl::Status Follow(const fs::path& link, const struct stat& info) {
    if (absl::Status own = CheckOwner(link, info); !own.ok()) return own;
    std::error_code error;
    const fs::path target = fs::read_symlink(link, error);
    if (error || --links_left_ < 0) {
      return absl::NotFoundError(absl::StrCat(
          "cannot follow ", link.string(), ": ",
          error ? error.message() : "it leads through too many links"));
    }
    if (target.is_absolute()) at_ = "/";
    const fs::path rest = target.relative_path();
    ahead_.insert(ahead_.begin(), rest.begin(), rest.end());
    return absl::OkStatus();
  }

  const fs::path folder_;
  const StickyFolder sticky_;
  fs::path at_;
  std::deque<fs::path> ahead_;
  int links_left_ = kMostLinks;
};

}  // namespace

absl::Status CheckOwn(const std::string& path, const struct stat& info,
                      StickyFolder sticky) {
  if (absl::Status own = CheckOwner(path, info); !own.ok()) return own;
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
  if (::stat(path.c_str(), &info) != 0) return CannotLookAt(path);
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no folder"));
  }
  return CheckOwn(path, info, sticky);
}

absl::Status CheckFoundFolder(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return CannotLookAt(path);
  if (absl::Status own = CheckOwner(path, info); !own.ok()) return own;
  return CheckOwnFolder(path, StickyFolder::kRefused);
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
  if (IsIn(root, path) && path != root) return path.string();
  return absl::PermissionDeniedError(
      absl::StrCat(folder, "/", name, " leads to ", path.string(),
                   ", out of the folder: put a copy in its place"));
}

absl::StatusOr<std::string> OwnPathWithin(const std::string& folder,
                                          const std::string& name) {
  if (absl::Status own = CheckFoundFolder(folder); !own.ok()) return own;
  absl::StatusOr<std::string> path = PathWithin(folder, name);
  if (!path.ok()) return path;
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return CannotLookAt(folder);
  if (absl::Status own = OwnWay(root, name, StickyFolder::kRefused).Go();
      !own.ok()) {
    return own;
  }
  return path;
}

absl::Status CheckOwnWay(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return CannotLookAt(path);
  if (absl::Status own =
          OwnWay("/", whole.relative_path(), StickyFolder::kAllowed).Go();
      !own.ok()) {
    return own;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return CannotLookAt(path);
  return CheckOwn(path, info);
}

}  // namespace wavetune
