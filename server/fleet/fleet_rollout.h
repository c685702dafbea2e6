// FleetRollout: a head on its way to the nodes of a class, some of them at a
// time. The fleet's head stays what it is until the last stage; the nodes of a
// stage serve the new table on trial, and tell how that goes (fleet_node.h).
// Where it goes badly the rollout is halted, and they go back to the head.
//
// Signed twice. Its plan by the node whose table it is: which table, stages,
// how long each is held, and the head that it takes the place of. How far it
// is, by who drives it: the stage, which nodes are in it, that it was halted.
// Neither is a head: that is signed when the last stage is over, by who drives
// it then. So whoever writes to the registry can take a rollout away or put an
// earlier stage back, but neither begin one nor skip a stage. What nodes say of
// themselves nobody signs: whoever forges that can hide that a stage is unwell.
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
#include "base/signing_key.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_profile.h"
#include "server/store/records.h"

namespace wavetune {

struct FleetRollout {
  FleetHead head;  // The next head, with the next epoch.
  RolloutPlan plan;
  int64_t head_revision = 0;   // The one's that it replaces; 0: none.
  int32_t stage = 0;           // Index into its stages.
  int64_t stage_since_us = 0;  // By who drives it; 0: no stage has begun.
  uint32_t threshold = 0;      // Nodes whose number is at most this take it.
  std::string halted;          // Why; empty: it goes on.
  std::string node;            // That drives it, or did last; empty: none has.
  std::string signed_plan;     // Bytes of the first five, as they were signed.

  friend bool operator==(const FleetRollout&, const FleetRollout&) = default;
};

// One whose signatures are those of these keys.
struct SignedRollout {
  FleetRollout rollout;
  std::string plan_key;       // 64 hexadecimal digits.
  std::string stage_key;      // The same; empty: no stage has begun.
  std::string stage_refused;  // Why it is none, though there is something.
};

// Returns keys in the registry: of all rollouts of a class and their drivers,
// of one of them. Cannot fail.
std::string RolloutsPrefix(absl::string_view fleet_class);
std::string RolloutPlace(const ProfileKey& key);
// The node that drives it: a FleetHolder.
std::string DriverPlace(const ProfileKey& key);

// Returns an entry that says nothing but the plan; the stage is not begun. With
// `signed_plan`, which it sets. Cannot fail.
std::string SignRollout(FleetRollout& rollout, const SigningKey& key);
// Returns the entry with its plan as it was signed, and the stage that it is in
// by now. Cannot fail.
std::string SignStage(const FleetRollout& rollout, const SigningKey& key);
// Reads what stands at `place`. A stage that cannot be read, or is of another
// plan, is none. Errors: as ReadHead.
absl::StatusOr<SignedRollout> ReadRollout(absl::string_view place,
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
  std::string why;  // Why it is unwell, for people; empty: it is not.
};

// Returns the next step of a rollout by the state of its nodes. Those of other
// classes do not count, nor does the node whose table it is, which serves it in
// any case. `in_stage_s`: for how long it has been in its stage.
//
// A stage is passed when its nodes serve the table and `hold_s` is over. It is
// halted where more than a tenth of the nodes that serve it are not well, or
// where none could serve it for kMostStageS. Nodes that cannot serve it for a
// reason of their own, as a pinned kernel, do not hold it up longer than that.
// Where no node of the class shows itself, nobody can say how it goes: it
// waits. Cannot fail.
inline constexpr double kMostStageS = 600;
RolloutStep NextRolloutStep(const FleetRollout& rollout,
                            absl::Span<const FleetNode> nodes,
                            double in_stage_s);

// Returns the names of the nodes of a head's class but for its own. Cannot
// fail.
std::vector<std::string> NodesOfRollout(const FleetHead& head,
                                        absl::Span<const FleetNode> nodes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_ROLLOUT_H_
