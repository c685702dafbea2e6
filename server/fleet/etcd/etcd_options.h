// Where a fleet's etcd is, and how it is reached.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_OPTIONS_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_OPTIONS_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // "host:port", the members' client URLs.
  std::string prefix = "/wavetune/";   // For every key; ends with '/'.
  bool tls = false;
  // PEM files. `ca`: empty: the system's authorities. `cert` and `key`: both,
  // or neither where etcd asks for no certificate.
  std::string ca;
  std::string cert;
  std::string key;
  std::string user;  // Empty: etcd asks for none, or takes the certificate's.
  std::string password;
  std::chrono::milliseconds call_timeout{5000};  // For one call of one member.
  // How long the registry believes that a node lives that it does not hear of.
  std::chrono::seconds session_ttl{30};
};

// Errors: INVALID_ARGUMENT where `endpoint` is no "host:port".
absl::Status CheckEtcdEndpoint(absl::string_view endpoint);

// Returns the options of "etcd://host:port[,host:port…][/prefix]", or of
// "etcds://…", which is with TLS. Errors: INVALID_ARGUMENT saying what is
// wrong with it.
absl::StatusOr<EtcdOptions> ParseEtcdUrl(absl::string_view url);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_OPTIONS_H_
