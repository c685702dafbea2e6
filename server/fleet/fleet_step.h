// FleetStep: the next action for one head of a fleet. It follows from three
// facts: the registry's entry, the head that this node accepted last, and any
// table that it promoted since. No queue and no history: after a partition, a
// restart or a restored backup the same facts lead to the same step.
//
// Thread safety: pure.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_STEP_H_
#define WAVETUNE_SERVER_FLEET_FLEET_STEP_H_

#include <cstdint>
#include <optional>

#include "server/fleet/fleet_head.h"

namespace wavetune {

// What the registry's entry is.
enum class HeadVerdict {
  kNone,     // There is none.
  kGood,     // Signed by who may.
  kBroken,   // No head at all, or one that nobody has signed or whose signer is
             // revoked: as good as none, whoever sees it.
  kForeign,  // Signed by a key that this node does not know, or a later
             // version: other nodes may know better, so it stays.
};

enum class FleetStep {
  kNothing,
  kAdopt,     // Serve what the registry's head names.
  kPublish,   // Write this node's own table.
  kRestore,   // Write the accepted head again.
  kSignAnew,  // Write the lapsed head again, signed by this node.
  kTry,       // Serve a rollout's table on trial.
  kGoBack,    // Serve the accepted head's table again.
};

struct HeadFacts {
  HeadVerdict verdict = HeadVerdict::kNone;
  std::optional<FleetHead> registered;  // Where it is good.
  // Whether that cannot serve here, whatever is tried.
  bool unusable = false;
  std::optional<FleetHead> accepted;
  bool own = false;  // The node has promoted a table since it accepted that.
  // What this node had accepted, and whose signer is revoked by now. Unless the
  // key was misused its table is sound: the class has it until something newer
  // is there, and nothing older takes its place.
  std::optional<FleetHead> lapsed;
  bool misused = false;       // That key.
  bool signs_lapsed = false;  // This node serves its table, and may sign it.
  // The accepted table serves here under an environment that no device has any
  // more.
  bool misplaced = false;
  // The latest epoch of a rollout, also of one that was halted: it is used up.
  uint64_t rollout_epoch = 0;
  // A rollout's head that this node is to serve on trial, and whether it does.
  std::optional<FleetHead> trial;
  bool serves_trial = false;
  // It serves a table of the fleet that is neither head nor trial: the rest of
  // a rollout that was halted.
  bool stray = false;
};

// Cannot fail.
FleetStep NextFleetStep(const HeadFacts& facts);

// Returns the epoch of the newest head of these, which a rollout's has to be
// ahead of. Cannot fail.
uint64_t NewestFleetEpoch(const HeadFacts& facts);

// Returns the epoch of a head that follows all of these, rollouts too. Cannot
// fail.
uint64_t NextFleetEpoch(const HeadFacts& facts);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_STEP_H_
