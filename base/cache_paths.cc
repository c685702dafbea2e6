#include "base/cache_paths.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/environment_variable.h"
#include "base/socket_paths.h"

namespace wavetune {
namespace {

// Returns why nothing can be kept below a home; empty: it can.
std::string HomeProblem(const std::string& home) {
  if (home.empty()) return "HOME is not set";
  if (home == "/") return "HOME is \"/\", which is nobody's home";
  for (const char* const below : {"/.cache/wavetune", "/.cache", ""}) {
    const std::string folder = home + below;
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return "";
    if (errno == ENOENT && *below != '\0') continue;
    return absl::StrCat(folder, " (of HOME) cannot be written by user ",
                        ::geteuid(), ": ", std::strerror(errno));
  }
  return "";
}

// What there is in place of the usual cache, which has a problem.
CacheDir PrivateCache(const std::string& problem,
                      const CacheSurroundings& around) {
  // Whoever writes to the cache chooses our configurations and our programs.
  const absl::Status made = MakePrivateDir(around.private_dir);
  if (made.ok()) {
    return {.path = around.private_dir,
            .problem = absl::StrCat(problem, "; the cache is in ",
                                    around.private_dir)};
  }
  return {.problem = absl::StrCat(problem, ", and ", made.message(),
                                  "; there is no cache. Set XDG_CACHE_HOME")};
}

}  // namespace

CacheSurroundings CacheSurroundings::OfThisProcess() {
  return {.xdg_cache_home = EnvironmentVariable("XDG_CACHE_HOME"),
          .home = EnvironmentVariable("HOME"),
          .private_dir = absl::StrCat("/tmp/wavetune-cache-", ::geteuid())};
}

CacheDir DefaultCache(const CacheSurroundings& around) {
  if (!around.xdg_cache_home.empty())
    return {.path = around.xdg_cache_home + "/wavetune"};
  const std::string problem = HomeProblem(around.home);
  if (problem.empty()) return {.path = around.home + "/.cache/wavetune"};
  return PrivateCache(problem, around);
}

CacheDir UsableCache(const std::string& wanted,
                     const CacheSurroundings& around) {
  std::error_code error;
  std::filesystem::create_directories(wanted, error);
  if (!error && ::access(wanted.c_str(), W_OK | X_OK) == 0)
    return {.path = wanted};
  return PrivateCache(
      absl::StrCat("the cache folder ", wanted, " cannot be written by user ",
                   ::geteuid(), ": ",
                   error ? error.message() : std::strerror(errno)),
      around);
}

}  // namespace wavetune
