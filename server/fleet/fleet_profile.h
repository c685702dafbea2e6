// FleetProfile: that one node of a class is to profile a kernel, or has. All
// nodes of the class see it in the registry, at ProfilePlace(key). Who does it
// is at HolderPlace(key), bound to that node's session, so that another goes on
// where it ends.
//
// It is not signed: whoever can write to the registry can have a kernel
// profiled. What comes of it is signed (fleet_head.h).
//
// Includes protobuf. Thread safety: plain values and pure functions.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_PROFILE_H_
#define WAVETUNE_SERVER_FLEET_FLEET_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/records.h"

namespace wavetune {

// How a table goes to the nodes of a class.
struct RolloutPlan {
  // Percent of the nodes, ascending, at last 100; none: all nodes at once.
  std::vector<int32_t> stages;
  double hold_s = 0;  // For which the nodes of a stage must be well.

  friend bool operator==(const RolloutPlan&, const RolloutPlan&) = default;
};

struct FleetProfile {
  struct Failure {
    std::string node;
    std::string why;

    friend bool operator==(const Failure&, const Failure&) = default;
  };

  std::string id;  // 16 hexadecimal digits.
  ProfileKey key;
  std::string node;  // Where it was asked for.
  std::string by;    // As JobRecord::by.
  std::string why;
  int64_t asked_at_us = 0;  // Since the Unix epoch, by that node's clock.
  // As JobRecord's; 0: the usual one of the node that does it.
  double budget_s = 0;
  int32_t samples_per_candidate = 0;
  int32_t portfolio_size = 0;
  bool drift_probe = false;
  bool fresh = false;
  RolloutPlan rollout;
  std::string begun_by;  // Who began it, or went on with it last.
  std::vector<Failure> failures;
  bool done = false;
  std::string done_by;
  std::string digest;  // The promoted table's; empty: none was.
  std::string outcome;

  friend bool operator==(const FleetProfile&, const FleetProfile&) = default;

  bool FailedOn(absl::string_view name) const;
};

// Who does a profile.
struct FleetHolder {
  std::string node;
  std::string profile;  // Its id.

  friend bool operator==(const FleetHolder&, const FleetHolder&) = default;
};

// Returns keys in the registry: of all profiles of a class and their holders,
// and of one of them. Cannot fail.
std::string ProfilesPrefix(absl::string_view fleet_class);
std::string ProfilePlace(const ProfileKey& key);
std::string HolderPlace(const ProfileKey& key);

std::string EncodeFleetProfile(const FleetProfile& profile);
std::string EncodeFleetHolder(const FleetHolder& holder);

// Errors: DATA_LOSS for bytes that are none, or do not belong at `place`;
// FAILED_PRECONDITION for a later format.
absl::StatusOr<FleetProfile> DecodeFleetProfile(absl::string_view place,
                                                absl::string_view bytes);
// Errors: DATA_LOSS.
absl::StatusOr<FleetHolder> DecodeFleetHolder(absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_PROFILE_H_
