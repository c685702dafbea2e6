#include "server/fleet/etcd/etcd_options.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace wavetune {

absl::Status CheckEtcdEndpoint(absl::string_view endpoint) {
  const size_t colon = endpoint.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(endpoint.substr(colon + 1), &port) || port == 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", endpoint,
                     "' is no host:port, as etcd://10.0.0.1:2379; an IPv6 "
                     "address is written in brackets"));
  }
  const absl::string_view host = endpoint.substr(0, colon);
  const bool brackets =
      absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (absl::StrContains(host, ":") && !brackets) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", endpoint, "' has an IPv6 address without brackets: write [", host,
        "]", endpoint.substr(colon)));
  }
  return absl::OkStatus();
}

absl::StatusOr<EtcdOptions> ParseEtcdUrl(absl::string_view url) {
  // What is before it may be a password: it is not repeated.
  if (absl::StrContains(url, "@")) {
    return absl::InvalidArgumentError(
        "--fleet has a '@': a user and a password have no place in it, where "
        "everybody reads them: give --fleet-user and --fleet-password-file");
  }
  EtcdOptions options;
  absl::string_view rest = url;
  if (absl::ConsumePrefix(&rest, "etcds://")) {
    options.tls = true;
  } else if (!absl::ConsumePrefix(&rest, "etcd://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", url,
                     "' is no fleet registry: write "
                     "etcd://host:port[,host:port...][/prefix], or etcds:// "
                     "for TLS"));
  }
  const size_t slash = rest.find('/');
  if (slash != absl::string_view::npos) {
    const absl::string_view prefix = absl::StripSuffix(rest.substr(slash), "/");
    if (prefix.size() < 2 || absl::StrContains(prefix, "//")) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", rest.substr(slash),
                       "' is no prefix: write /wavetune, or leave it out"));
    }
    options.prefix = absl::StrCat(prefix, "/");
    rest = rest.substr(0, slash);
  }
  for (const absl::string_view endpoint : absl::StrSplit(rest, ',')) {
    RETURN_IF_ERROR(CheckEtcdEndpoint(endpoint));
    options.endpoints.emplace_back(endpoint);
  }
  return options;
}

}  // namespace wavetune
