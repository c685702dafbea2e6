#include "server/fleet/fleet_rollouts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_orders.h"
#include "server/fleet/fleet_profile.h"
#include "server/fleet/fleet_rollout.h"

namespace wavetune {

using std::chrono::steady_clock;

void FleetRollouts::Look() {
  std::map<std::string, Time> turns;
  for (const Rollout& rollout : options_.tables->Rollouts()) {
    if (!rollout.rollout.halted.empty()) continue;
    if (rollout.driver == options_.node) {
      // What fails is tried again at the next look.
      const absl::Status driven = Drive(rollout);
      if (!driven.ok() && !absl::IsAborted(driven))
        SayWaits(rollout, std::string(driven.message()));
    } else if (rollout.driver.empty()) {
      Campaign(rollout);
      const std::string place = RolloutPlace(rollout.rollout.head.key);
      turns[place] = turns_[place];
    }
  }
  turns_.swap(turns);  // Without those that have ended.
}

void FleetRollouts::Campaign(const Rollout& rollout) {
  using std::chrono::milliseconds;
  const FleetHead& head = rollout.rollout.head;
  // Who may not sign drives nothing.
  if (!options_.tables->StageOf(rollout.rollout).ok()) return;
  Time& turn = turns_[RolloutPlace(head.key)];
  if (turn == Time{}) {
    const int64_t patience = options_.patience.count();
    turn = steady_clock::now();
    if (head.node != options_.node) {
      turn += milliseconds(std::uniform_int_distribution<int64_t>(
          patience, 2 * patience)(random_));
    }
  }
  if (steady_clock::now() < turn) return;
  Commit({{.key = DriverPlace(head.key),
           .value = EncodeFleetHolder({options_.node, head.digest}),
           .expected = 0,
           .of_session = true}})
      .IgnoreError();  // Another one is, or the next look tries again.
}

absl::Status FleetRollouts::Drive(const Rollout& rollout) {
  const FleetRollout& now = rollout.rollout;
  if (rollout.overtaken) return Remove(rollout);
  // It was halted, and somebody put back what was there before.
  if (!rollout.halted_before.empty())
    return Halt(rollout, rollout.halted_before);
  if (rollout.head_revision != now.head_revision)
    return Halt(rollout, "another table became the fleet's meanwhile");
  ASSIGN_OR_RETURN(const std::vector<FleetNode> nodes,
                   options_.presence->Nodes());
  const std::vector<std::string> names = NodesOfRollout(now.head, nodes);
  Stage& stage = stages_[RolloutPlace(now.head.key)];
  if (stage.revision != rollout.revision)
    stage = {.revision = rollout.revision, .since = steady_clock::now()};
  const std::chrono::duration<double> in_stage =
      steady_clock::now() - stage.since;
  const RolloutStep step = NextRolloutStep(now, nodes, in_stage.count());
  if (step.kind == RolloutStep::Kind::kWait) {
    SayWaits(rollout, step.why);
    if (!step.why.empty()) return absl::OkStatus();
  }
  if (now.stage_since_us == 0) return SetStage(rollout, 0, names);
  switch (step.kind) {
    case RolloutStep::Kind::kAdvance:
      return SetStage(rollout, now.stage + 1, names);
    case RolloutStep::Kind::kFinish:
      return Finish(rollout);
    case RolloutStep::Kind::kHalt:
      return Halt(rollout, step.why);
    default:
      return absl::OkStatus();
  }
}

void FleetRollouts::SayWaits(const Rollout& rollout, const std::string& why) {
  std::string& said = stages_[RolloutPlace(rollout.rollout.head.key)].waits;
  if (std::exchange(said, why) == why || why.empty()) return;
  Log(true, rollout, absl::StrCat("waits: ", why));
}

absl::Status FleetRollouts::SetStage(const Rollout& rollout, int32_t stage,
                                     const std::vector<std::string>& nodes) {
  FleetRollout next = rollout.rollout;
  const int32_t percent = next.plan.stages[static_cast<size_t>(stage)];
  next.stage = stage;
  next.stage_since_us = options_.clock->NowUs();
  next.threshold = RolloutThreshold(next.head.digest, percent, nodes);
  ASSIGN_OR_RETURN(const std::string entry, options_.tables->StageOf(next));
  RETURN_IF_ERROR(Commit({{.key = RolloutPlace(next.head.key),
                           .value = entry,
                           .expected = rollout.revision}}));
  Log(false, rollout,
      absl::StrCat("goes to ", percent, " % of ", nodes.size(),
                   " other nodes"));
  return absl::OkStatus();
}

absl::Status FleetRollouts::Finish(const Rollout& rollout) {
  const ProfileKey& key = rollout.rollout.head.key;
  ASSIGN_OR_RETURN(const std::string head,
                   options_.tables->FinalHeadOf(rollout.rollout));
  absl::Status done =
      Commit({{.key = HeadKey(key),
               .value = head,
               .expected = rollout.rollout.head_revision},
              {.key = RolloutPlace(key), .expected = rollout.revision},
              {.key = DriverPlace(key)},
              // Frozen meanwhile, it waits.
              FreezeAbsent(FleetClass(key), key.kernel)});
  if (done.ok()) Log(false, rollout, "is the fleet's: its rollout is done");
  // Where another table became the fleet's the next look ends it.
  return done;
}

absl::Status FleetRollouts::Halt(const Rollout& rollout,
                                 const std::string& why) {
  FleetRollout halted = rollout.rollout;
  halted.halted = why;
  ASSIGN_OR_RETURN(const std::string entry, options_.tables->StageOf(halted));
  RETURN_IF_ERROR(Commit({{.key = RolloutPlace(halted.head.key),
                           .value = entry,
                           .expected = rollout.revision},
                          {.key = DriverPlace(halted.head.key)}}));
  Log(true, rollout, absl::StrCat("is halted, nodes go back: ", why));
  return absl::OkStatus();
}

absl::Status FleetRollouts::Remove(const Rollout& rollout) {
  const ProfileKey& key = rollout.rollout.head.key;
  RETURN_IF_ERROR(
      Commit({{.key = RolloutPlace(key), .expected = rollout.revision},
              {.key = DriverPlace(key)}}));
  Log(false, rollout, "is over: another table became the fleet's meanwhile");
  return absl::OkStatus();
}

absl::Status FleetRollouts::Commit(const std::vector<FleetWrite>& writes) {
  return options_.registry->Commit(writes).status();
}

void FleetRollouts::Log(bool warning, const Rollout& rollout,
                        const std::string& what) {
  options_.log(
      warning,
      absl::StrCat("the rollout of table ",
                   ShortDigest(rollout.rollout.head.digest), " of kernel ",
                   rollout.rollout.head.key.kernel, " ", what));
}

}  // namespace wavetune
