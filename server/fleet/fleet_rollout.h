// FleetRollout: a head on its way to the nodes of a class, some of them at a
// time. The fleet's head stays what it is until the last stage; the nodes of a
// stage serve the new table on trial, and tell how that goes (fleet_node.h).
// Where it goes badly the rollout is halted, and they go back to the head.
//
// Not signed, but for the head that it carries: whoever can write to the
// registry can begin or halt one, but have no table served that nobody trusted
// has signed.
//
// Includes protobuf. Thread safety: plain values and pure functions.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_ROLLOUT_H_
#define WAVETUNE_SERVER_FLEET_FLEET_ROLLOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_profile.h"
#include "server/store/records.h"

namespace wavetune {

struct FleetRollout {
  std::string head;  // Bytes of the signed head, with the next epoch.
  RolloutPlan plan;
  int32_t stage = 0;           // Index into its stages.
  int64_t stage_since_us = 0;  // Since the Unix epoch, by who drives it.
  uint32_t threshold = 0;      // Nodes whose number is at most this take it.
  std::string halted;          // Why; empty: it goes on.
  int64_t head_revision = 0;   // Of what it takes the place of; 0: of nothing.

  friend bool operator==(const FleetRollout&, const FleetRollout&) = default;
};

// Returns keys in the registry: of all rollouts of a class and their drivers,
// of one of them. Cannot fail.
std::string RolloutsPrefix(absl::string_view fleet_class);
std::string RolloutPlace(const ProfileKey& key);
// Of the node that drives it: a FleetHolder.
std::string DriverPlace(const ProfileKey& key);

std::string EncodeFleetRollout(const FleetRollout& rollout);
// Errors: DATA_LOSS for bytes that are none; FAILED_PRECONDITION for a later
// format.
absl::StatusOr<FleetRollout> DecodeFleetRollout(absl::string_view place,
                                                absl::string_view bytes);

// Errors: INVALID_ARGUMENT saying what is wrong with the stages or the time.
absl::Status CheckRolloutPlan(const RolloutPlan& plan);

// Returns the number of a node for a table: which nodes are first is another
// matter for each table, and the same for everybody. Cannot fail.
uint32_t RolloutNumber(absl::string_view digest, absl::string_view node);

// Returns the threshold that takes so many percent of the nodes, rounded up.
// Cannot fail.
uint32_t RolloutThreshold(absl::string_view digest, int32_t percent,
                          absl::Span<const std::string> nodes);

// What its driver does next.
struct RolloutStep {
  enum class Kind { kWait, kAdvance, kFinish, kHalt };

  Kind kind = Kind::kWait;
  std::string why;  // What is the matter, for people; empty: nothing is.
};

// Returns the next step of a rollout of a head whose nodes say so; those of
// other classes do not count, nor does the node whose table it is, which serves
// it in any case. `in_stage_s`: for how long it has been in its stage.
//
// A stage is passed when its nodes serve the table and `hold_s` is over. It is
// halted where more than a tenth of the nodes that serve it are not well, or
// where none could serve it for kMostStageS. Nodes that cannot serve it for a
// reason of their own, as a pinned kernel, do not hold it up longer than that.
// Where no node of the class shows itself, nobody can say how it goes: it
// waits. Cannot fail.
inline constexpr double kMostStageS = 600;
RolloutStep NextRolloutStep(const FleetRollout& rollout, const FleetHead& head,
                            absl::Span<const FleetNode> nodes,
                            double in_stage_s);

// Returns the names of the nodes of a head's class but for its own. Cannot
// fail.
std::vector<std::string> NodesOfRollout(const FleetHead& head,
                                        absl::Span<const FleetNode> nodes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_ROLLOUT_H_
