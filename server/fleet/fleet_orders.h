// What a class is told of a kernel beside its head: that nobody moves the head
// (a freeze), and that a table computes wrong results (a withdrawal).
//
//   registry.Commit({{.key = FreezeKey(fleet_class, "gemm"),
//                     .value = EncodeFreeze(freeze), .expected = 0}});
//   registry.Commit({…, FreezeAbsent(fleet_class, "gemm")});  // ABORTED now
//
// A freeze is signed by nobody: whoever may write to the registry can at most
// keep the fleet as it is. A withdrawal ends what serves, so it counts as a
// head does: by its signature (fleet_trust.h).
//
// Includes protobuf. Thread safety: plain values and pure functions.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_ORDERS_H_
#define WAVETUNE_SERVER_FLEET_FLEET_ORDERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/signing_key.h"
#include "server/fleet/fleet_registry.h"
#include "server/store/records.h"

namespace wavetune {

struct FleetFreeze {
  std::string by;  // Who froze it, on which node, and why; for people.
  std::string node;
  std::string why;
  int64_t at_us = 0;  // Since the Unix epoch, by that node's clock.

  friend bool operator==(const FleetFreeze&, const FleetFreeze&) = default;
};

struct FleetWithdrawal {
  std::string fleet;   // As FleetHead::fleet.
  ProfileKey key;      // As FleetHead::key.
  std::string digest;  // Hex SHA-256 of the payload.
  std::string node;    // That found it wrong, and how.
  std::string why;
  int64_t at_us = 0;  // Since the Unix epoch, by that node's clock.

  friend bool operator==(const FleetWithdrawal&,
                         const FleetWithdrawal&) = default;
};

// One whose signature is that of `public_key`.
struct SignedWithdrawal {
  FleetWithdrawal withdrawal;
  std::string public_key;  // 64 hexadecimal digits.
};

// Returns keys in the registry: of all orders of a class, of one freeze, and of
// one withdrawal. Cannot fail.
std::string OrdersPrefix(absl::string_view fleet_class);
std::string FreezeKey(absl::string_view fleet_class, absl::string_view kernel);
std::string WithdrawalKey(const ProfileKey& key, absl::string_view digest);

// What an order's key says. `digest` is empty for a freeze.
struct FleetOrderPlace {
  std::string kernel;
  std::string digest;
};
// Errors: INVALID_ARGUMENT for a key of `fleet_class` that is no order's.
absl::StatusOr<FleetOrderPlace> OrderPlaceOf(absl::string_view fleet_class,
                                             absl::string_view key);

// Returns the write that has a commit fail where a kernel is frozen.
FleetWrite FreezeAbsent(absl::string_view fleet_class,
                        absl::string_view kernel);

// Return the bytes to store, and what they are. Cannot fail: what cannot be
// read is a freeze all the same, and says so.
std::string EncodeFreeze(const FleetFreeze& freeze);
FleetFreeze DecodeFreeze(absl::string_view bytes);
// For people: "frozen by user 0 on node a: why", "node a found
// it wrong: …".
std::string TextOf(const FleetFreeze& freeze);
std::string TextOf(const FleetWithdrawal& withdrawal);

// Returns the bytes of a signed withdrawal. Cannot fail.
std::string SignWithdrawal(const FleetWithdrawal& withdrawal,
                           const SigningKey& key);
// Reads one that stands at `key`, and checks its signature. Errors: as
// ReadHead.
absl::StatusOr<SignedWithdrawal> ReadWithdrawal(absl::string_view key,
                                                absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_ORDERS_H_
