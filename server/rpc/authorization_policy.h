// AuthorizationPolicy: which certificates may call which methods over TCP.
//
// The format is that of gRPC's authorization policy (gRFC A43), so that a
// policy can be shared with other gRPC services. It has rules to deny and rules
// to allow; calls that no rule allows are denied. Debian's gRPC 1.51 has no
// reader of it (docs/decisions/0049-tcp-with-own-policy.md), so it is read
// here.
//
//   {"name": "wavetune", "allow_rules": [{
//      "name": "readers",
//      "source": {"principals": ["spiffe://wavetune/reader"]},
//      "request": {"paths": ["/wavetune.v1.TableService/*"]}}]}
//
// Deviation: rules on headers are refused, as no method of ours has any.
//
// Thread safety: immutable.
#ifndef WAVETUNE_SERVER_RPC_AUTHORIZATION_POLICY_H_
#define WAVETUNE_SERVER_RPC_AUTHORIZATION_POLICY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Whom a verified certificate names.
struct CertificateNames {
  std::vector<std::string> uris;       // From its alternative names.
  std::vector<std::string> dns_names;  // Alternative names that are hosts.
  std::string subject;                 // Its distinguished name.
  std::string common_name;             // From its subject.
  bool of_authority = false;           // It may sign others.

  // What people call it: its URI, else its first DNS name, else its common
  // name. It may hold any bytes.
  const std::string& Name() const {
    if (!uris.empty()) return uris.front();
    return dns_names.empty() ? common_name : dns_names.front();
  }
};

class AuthorizationPolicy {
 public:
  // Reads a policy. Errors: INVALID_ARGUMENT naming the rule and the field, and
  // its legal values.
  static absl::StatusOr<AuthorizationPolicy> Parse(absl::string_view json);

  // Returns why who shows a certificate may not call a method, by its path
  // "/package.Service/Method"; empty where it may. A pattern for names is
  // compared with the URI, else with each DNS name, else with the subject. A
  // certificate with several URIs, or that of an authority with one, is
  // nobody's (SPIFFE X509-SVID, section 2). Cannot fail. Cost: all patterns of
  // all rules.
  std::string WhyNot(const CertificateNames& caller,
                     absl::string_view path) const;
  bool Allows(const CertificateNames& caller, absl::string_view path) const {
    return WhyNot(caller, path).empty();
  }

  // "x" is x, "x*" what begins so, "*x" what ends so, "*" whatever is there.
  using Patterns = std::vector<std::string>;
  struct Rule {
    std::string name;
    std::optional<Patterns> principals;  // Nothing: any verified certificate.
    Patterns paths;                      // None: every method.
  };

 private:
  AuthorizationPolicy(std::vector<Rule> deny, std::vector<Rule> allow);

  std::vector<Rule> deny_;
  std::vector<Rule> allow_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_AUTHORIZATION_POLICY_H_
