// FleetHead: which table a class of devices serves for a kernel, as the fleet
// has it: signed by the node that measured it.
//
//   registry.Commit({{.key = HeadKey(head.key), .value = SignHead(head,
//   key)}}); ASSIGN_OR_RETURN(SignedHead got, ReadHead(entry.key,
//   entry.value)); RETURN_IF_ERROR(trust.Check(got));
//
// Includes protobuf. Thread safety: plain values and pure functions.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_HEAD_H_
#define WAVETUNE_SERVER_FLEET_FLEET_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/signing_key.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/store/records.h"

namespace wavetune {

// No head has a later epoch: one more has to be possible.
inline constexpr uint64_t kMostFleetEpoch = uint64_t{1} << 53;

struct FleetHead {
  std::string fleet;   // The fleet's name: one's heads are none of another.
  ProfileKey key;      // Its environment is the class's.
  std::string digest;  // Hex SHA-256 of the payload.
  // Orders the heads of a class and kernel; 1 to kMostFleetEpoch.
  uint64_t epoch = 0;
  std::string carried_from;  // As TableRecord::carried_from.
  std::string compiler;
  double fit_residual = 0;
  std::string node;             // That published it.
  int64_t published_at_us = 0;  // Since the Unix epoch, by that node's clock.
  std::string why;              // For people.
  bool rolled_back = false;     // An operator went back to it.
  // What the class had accepted before, the newest first: what a rollback goes
  // back to. Each without its own.
  std::vector<FleetHead> before;

  friend bool operator==(const FleetHead&, const FleetHead&) = default;
};

// A head whose signature is that of `public_key`; whether that key may sign is
// another question (fleet_trust.h).
struct SignedHead {
  FleetHead head;
  std::string public_key;  // 64 hexadecimal digits.
};

// Heads of FleetHead::before, and bytes of each one's reason.
inline constexpr size_t kMostHeadsBefore = 4;
inline constexpr size_t kMostWhyBefore = 200;

// Returns FleetHead::before of a head of another table that takes the place of
// `replaced`. Cannot fail.
std::vector<FleetHead> BeforeOf(const FleetHead& replaced,
                                absl::string_view digest);

// Returns the name of a device class in keys: 16 hexadecimal digits. Cannot
// fail.
std::string FleetClass(absl::string_view silicon_key,
                       absl::string_view environment_key);
std::string FleetClass(const ProfileKey& key);
std::string FleetClass(const DeviceFacts& device);

// Keys in the registry. None can fail.
//
// A payload belongs to one head, and is written and deleted only with it, by
// commits that expect the head's revision. So no head names one that another
// node deletes meanwhile.

// Returns the prefix of a class's heads.
std::string HeadsPrefix(absl::string_view fleet_class);
// Returns the key of one head.
std::string HeadKey(const ProfileKey& key);
// Returns the prefix of a head's payloads.
std::string BlobsPrefix(const ProfileKey& key);
// Returns the key of one payload.
std::string BlobKey(const ProfileKey& key, absl::string_view digest);

// Class and kernel of a head's key.
struct HeadPlace {
  std::string fleet_class;
  std::string kernel;
};
HeadPlace PlaceOf(absl::string_view head_key);

// Return the signed content of a head, and the reverse. Cannot fail: content
// that is no head becomes one that IsHead denies.
v1::FleetHeadContent HeadToProto(const FleetHead& head);
FleetHead HeadFromProto(const v1::FleetHeadContent& content);
// Whether it names a table and an epoch.
bool IsHead(const FleetHead& head);

// Returns the bytes of a signed head. Cannot fail.
std::string SignHead(const FleetHead& head, const SigningKey& key);

// Reads a head that stands at `key`, and checks its signature. Errors:
// DATA_LOSS for bytes that are none, or are of another class or kernel than
// their key. FAILED_PRECONDITION for a later format. PERMISSION_DENIED for a
// signature that is not of its key.
absl::StatusOr<SignedHead> ReadHead(absl::string_view key,
                                    absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_HEAD_H_
