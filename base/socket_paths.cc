#include "base/socket_paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace wavetune {

// Of sockaddr_un.
constexpr size_t kMaxSocketPath = 107;

absl::Status CheckPrivateDir(const std::string& dir) {
  struct stat info {};
  // Not stat: a link may point into a folder that is ours.
  if (::lstat(dir.c_str(), &info) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot look at ", dir, ": ", std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(dir,
                     " is not a folder that only this user can write to: "
                     "remove it, or choose another"));
  }
  return absl::OkStatus();
}

SocketSurroundings SocketSurroundings::OfThisProcess() {
  SocketSurroundings around;
  around.root = ::geteuid() == 0;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr) around.runtime_dir = runtime;
  around.private_dir = absl::StrCat("/tmp/wavetune-", ::geteuid());
  return around;
}

std::string DefaultSocketDir(const SocketSurroundings& around) {
  if (around.root) return around.system_dir;
  if (!around.runtime_dir.empty()) return around.runtime_dir + "/wavetune";
  return around.private_dir;
}

std::string DefaultSocketPath(absl::string_view role,
                              const SocketSurroundings& around) {
  const std::string dir = DefaultSocketDir(around);
  std::string own = absl::StrCat(dir, "/", role, ".sock");
  std::string system = absl::StrCat(around.system_dir, "/", role, ".sock");
  struct stat info {};
  const bool dir_exists = ::lstat(dir.c_str(), &info) == 0;
  if (dir == around.private_dir && dir_exists && !CheckPrivateDir(dir).ok())
    return system;
  if (::access(own.c_str(), F_OK) == 0) return own;
  // Connecting takes the right to write.
  return ::access(system.c_str(), W_OK) == 0 ? system : own;
}

absl::Status PrepareSocketDir(const std::string& dir,
                              const SocketSurroundings& around) {
  return dir == around.private_dir ? MakePrivateDir(dir) : absl::OkStatus();
}

absl::Status MakePrivateDir(const std::string& dir) {
  if (::mkdir(dir.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make ", dir, ": ", std::strerror(errno)));
  }
  return CheckPrivateDir(dir);
}

bool IsEndpoint(absl::string_view target) {
  if (absl::ConsumePrefix(&target, "unix:")) {
    absl::ConsumePrefix(&target, "//");
    return !target.empty() && target.size() <= kMaxSocketPath;
  }
  const size_t colon = target.rfind(':');
  if (colon == target.npos || colon + 1 == target.size() ||
      !absl::c_all_of(target.substr(colon + 1), absl::ascii_isdigit))
    return false;
  absl::string_view host = target.substr(0, colon);
  if (absl::ConsumePrefix(&host, "["))
    return absl::ConsumeSuffix(&host, "]") && !host.empty();
  return !host.empty() && host.find_first_of(":/") == host.npos;
}

}  // namespace wavetune
