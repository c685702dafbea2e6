// FleetTrust: whose heads a node believes: a list of public keys and the
// classes that each may sign for.
//
//   # key       silicon                    name
//   3d4017c3…   *                          node-1
//   92a009a9…   backend=cuda;arch=sm_90;*  node-2
//   revoked 5ebfae4f…
//   revoked 77c1e0d2… misused
//
// A silicon key is whole, or its beginning and '*'.
// A key that is revoked is never believed, wherever else it stands. To rotate a
// node's key, add the new one everywhere, give it to the node, then revoke the
// old one: what it had signed nodes that serve it sign anew. Not what a key
// signed that was misused.
//
// Copies share one list: whoever reads the file again tells all of them
// (Replace).
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_TRUST_H_
#define WAVETUNE_SERVER_FLEET_FLEET_TRUST_H_

#include <map>
#include <memory>
#include <mutex>
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

  // Returns the name of who signed. Errors: PERMISSION_DENIED where the head's
  // key is not believed, or may not sign for the class.
  absl::StatusOr<std::string> Check(const SignedHead& head) const;
  // The same of a key that signs as a node, for devices of a silicon key.
  absl::StatusOr<std::string> Check(absl::string_view public_key,
                                    absl::string_view node,
                                    absl::string_view silicon_key) const;

  // Whether a key is revoked: what it signed counts nowhere.
  bool IsRevoked(absl::string_view public_key) const {
    return list()->revoked.contains(public_key);
  }
  // Whether somebody else had it, so that what it signed may not be sound.
  bool IsMisused(absl::string_view public_key) const {
    const std::shared_ptr<const List> list = this->list();
    const auto found = list->revoked.find(public_key);
    return found != list->revoked.end() && found->second;
  }

  // Whether it believes nobody: it was never read.
  bool empty() const { return list()->signers.empty(); }

  // Takes the list of `other`, for all copies of this one. Returns whether it
  // is another list.
  bool Replace(const FleetTrust& other);

 private:
  struct Signer {
    std::vector<std::string> classes;  // Patterns of silicon keys.
    std::string name;

    friend bool operator==(const Signer&, const Signer&) = default;
  };
  struct List {
    std::map<std::string, Signer, std::less<>> signers;  // By public key.
    // By public key: whether it was misused.
    std::map<std::string, bool, std::less<>> revoked;

    friend bool operator==(const List&, const List&) = default;
  };
  struct Shared {
    std::mutex mutex;
    std::shared_ptr<const List> list = std::make_shared<const List>();
  };

  std::shared_ptr<const List> list() const;

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_TRUST_H_
