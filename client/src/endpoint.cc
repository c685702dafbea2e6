#include "client/src/endpoint.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/environment_variable.h"
#include "base/socket_paths.h"

namespace wavetune {
std::string ReaderEndpoint(absl::string_view explicit_endpoint) {
  std::string endpoint(explicit_endpoint);
  if (endpoint.empty()) endpoint = EnvironmentVariable("WAVETUNE_ENDPOINT");
  if (endpoint.empty()) endpoint = DefaultSocketPath("reader");
  if (absl::StartsWith(endpoint, "/") || absl::StartsWith(endpoint, "."))
    endpoint = "unix:" + endpoint;
  return endpoint;
}

std::string SiblingEndpoint(absl::string_view reader_endpoint,
                            absl::string_view role) {
  absl::string_view stem = reader_endpoint;
  if (!absl::StartsWith(stem, "unix:") ||
      !absl::ConsumeSuffix(&stem, "reader.sock"))
    return std::string(reader_endpoint);
  return absl::StrCat(stem, role, ".sock");
}

CacheDir DefaultCacheDir() {
  if (const std::string dir = EnvironmentVariable("WAVETUNE_CACHE_DIR");
      !dir.empty())
    return {.path = dir};
  return DefaultCache();
}

}  // namespace wavetune
