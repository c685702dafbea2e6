// FleetTrust: whose heads a node believes: a list of public keys and the
// classes that each may sign for.
//
//   # key (64 hex digits)    classes: silicon keys with *, or * for all    name
//   3d4017c3…                * node-1 92a009a9… backend=cuda;arch=sm_90;*
//   node-2 revoked 5ebfae4f… node-3
//
// A key that is revoked is never believed, wherever else it stands. To rotate a
// node's key, add the new one everywhere, give it to the node, then revoke the
// old one.
//
// Thread safety: immutable.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_TRUST_H_
#define WAVETUNE_SERVER_FLEET_FLEET_TRUST_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/fleet/fleet_head.h"

namespace wavetune {

class FleetTrust {
 public:
  // Errors: INVALID_ARGUMENT with the line that is wrong, and for a list that
  // believes nobody.
  static absl::StatusOr<FleetTrust> Parse(absl::string_view text);
  // The same of a file that only root and this process's user can change.
  // Errors: also as ReadOwnInputFile.
  static absl::StatusOr<FleetTrust> Read(const std::string& path);

  // Errors: PERMISSION_DENIED where the head's key is not believed, is revoked,
  // or may not sign for the class.
  absl::Status Check(const SignedHead& head) const;

 private:
  struct Signer {
    std::vector<std::string> classes;  // Patterns of silicon keys.
    std::string name;
  };

  std::map<std::string, Signer, std::less<>> signers_;  // By public key.
  std::set<std::string, std::less<>> revoked_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_TRUST_H_
