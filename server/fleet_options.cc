#include "server/fleet_options.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/option_checks.h"
#include "base/private_key.h"
#include "base/signing_key.h"
#include "base/status_macros.h"
#include "server/fleet/etcd/etcd_connection.h"
#include "server/fleet/etcd/etcd_options.h"
#include "server/fleet/etcd/etcd_registry.h"
#include "server/fleet/fleet_trust.h"

namespace wavetune {
namespace {

constexpr size_t kMostNameBytes = 253;  // As of a host.

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name) == 0 ? name : "";
}

// Errors: INVALID_ARGUMENT naming the option.
absl::Status Together(bool ok, const std::string& what) {
  return ok ? absl::OkStatus() : absl::InvalidArgumentError(what);
}

absl::Status CheckTogether(const FleetArguments& arguments) {
  const bool tls = arguments.url.starts_with("etcds://");
  RETURN_IF_ERROR(
      Together(tls || (arguments.ca.empty() && arguments.cert.empty() &&
                       arguments.tls_key.empty()),
               "--fleet-ca, --fleet-cert and --fleet-tls-key are for --fleet "
               "etcds://..., with TLS"));
  RETURN_IF_ERROR(Together(arguments.cert.empty() == arguments.tls_key.empty(),
                           "--fleet-cert and --fleet-tls-key go together"));
  RETURN_IF_ERROR(Together(arguments.cert.empty() || !arguments.ca.empty(),
                           "--fleet-cert needs --fleet-ca, too"));
  RETURN_IF_ERROR(
      Together(arguments.user.empty() == arguments.password_file.empty(),
               "--fleet-user and --fleet-password-file go together"));
  RETURN_IF_ERROR(Together(tls || arguments.user.empty(),
                           "--fleet-user needs --fleet etcds://...: a "
                           "password is not sent without TLS"));
  RETURN_IF_ERROR(Together(!arguments.node.empty() || !HostName().empty(),
                           "this host has no name: give --fleet-node"));
  return Together(!arguments.trust.empty(),
                  "--fleet needs --fleet-trust: a file that says whose tables "
                  "count (docs/fleet.md)");
}

absl::StatusOr<EtcdOptions> EtcdOptionsOf(const FleetArguments& arguments) {
  ASSIGN_OR_RETURN(EtcdOptions etcd, ParseEtcdUrl(arguments.url));
  RETURN_IF_ERROR(CheckTogether(arguments));
  etcd.ca = arguments.ca;
  etcd.cert = arguments.cert;
  etcd.key = arguments.tls_key;
  etcd.user = arguments.user;
  etcd.session_ttl = std::chrono::seconds(arguments.session_s);
  if (arguments.password_file.empty()) return etcd;
  ASSIGN_OR_RETURN(const std::string password,
                   ReadSecretFile(arguments.password_file));
  etcd.password = std::string(absl::StripAsciiWhitespace(password));
  return etcd;
}

// It is a part of keys in the registry.
absl::Status CheckNodeName(absl::string_view name) {
  const bool good =
      name.size() <= kMostNameBytes &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               absl::StrContains("._-", c);
      });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name,
      "' is no name of a node: --fleet-node takes letters, digits, '.', '_' "
      "and '-', at most ",
      kMostNameBytes));
}

absl::StatusOr<FleetMembership> MembershipOf(const FleetArguments& arguments) {
  FleetMembership membership;
  membership.node = arguments.node.empty() ? HostName() : arguments.node;
  RETURN_IF_ERROR(CheckNodeName(membership.node));
  ASSIGN_OR_RETURN(membership.trust, FleetTrust::Read(arguments.trust));
  if (arguments.key.empty()) return membership;
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::Read(arguments.key));
  membership.key = std::make_shared<const SigningKey>(std::move(key));
  return membership;
}

}  // namespace

void DeclareFleet(CLI::App& app, FleetArguments* arguments) {
  app.add_option("--fleet", arguments->url,
                 "Registry of the fleet that this node is of: "
                 "etcd://HOST:PORT[,HOST:PORT...][/PREFIX], or etcds:// for "
                 "TLS; without it the node is of none");
  app.add_option("--fleet-node", arguments->node,
                 "Name of this node in the fleet, instead of the host's");
  app.add_option("--fleet-trust", arguments->trust,
                 "File with the public keys whose tables count, and for which "
                 "silicon; needed with --fleet");
  app.add_option("--fleet-key", arguments->key,
                 "PEM file of the Ed25519 key that this node signs with; "
                 "without it nothing of it is published");
  app.add_option("--fleet-ca", arguments->ca,
                 "PEM file of the authorities whose etcd is believed, instead "
                 "of the system's");
  app.add_option("--fleet-cert", arguments->cert,
                 "PEM file of the certificate that etcd is shown");
  app.add_option("--fleet-tls-key", arguments->tls_key, "PEM file of its key");
  app.add_option("--fleet-user", arguments->user, "User of etcd");
  app.add_option("--fleet-password-file", arguments->password_file,
                 "File with that user's password");
  app.add_option("--fleet-session", arguments->session_s,
                 "Seconds after which the fleet takes this node for dead that "
                 "it does not hear of; it hears of it three times as often")
      ->check(NumberIn({3, 600}))
      ->capture_default_str();
}

absl::StatusOr<Fleet> OpenFleet(const FleetArguments& arguments) {
  Fleet fleet;
  if (arguments.url.empty()) {
    RETURN_IF_ERROR(CheckFleet(arguments));
    return fleet;
  }
  ASSIGN_OR_RETURN(const EtcdOptions etcd, EtcdOptionsOf(arguments));
  ASSIGN_OR_RETURN(fleet.membership, MembershipOf(arguments));
  ASSIGN_OR_RETURN(fleet.registry, EtcdRegistry::Create(etcd));
  fleet.membership.registry = fleet.registry.get();
  fleet.membership.name = etcd.prefix;
  return fleet;
}

absl::StatusOr<FleetTrust> ReadFleetTrust(const FleetArguments& arguments) {
  if (arguments.url.empty() || arguments.trust.empty()) return FleetTrust();
  return FleetTrust::Read(arguments.trust);
}

absl::Status CheckFleet(const FleetArguments& arguments) {
  if (arguments.url.empty()) {
    return Together(arguments.trust.empty() && arguments.key.empty() &&
                        arguments.user.empty() && arguments.ca.empty(),
                    "options that begin with --fleet- need --fleet itself: "
                    "where the registry is");
  }
  ASSIGN_OR_RETURN(const EtcdOptions etcd, EtcdOptionsOf(arguments));
  RETURN_IF_ERROR(MembershipOf(arguments).status());
  return EtcdConnection::Create(etcd).status();
}

}  // namespace wavetune
