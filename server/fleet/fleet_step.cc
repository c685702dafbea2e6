#include "server/fleet/fleet_step.h"

#include <algorithm>

namespace wavetune {
namespace {

// Of two heads with one epoch, which a restored registry may bring about, the
// registry's counts.
bool IsNews(const FleetHead& head, const std::optional<FleetHead>& accepted) {
  return !accepted || head.epoch > accepted->epoch ||
         (head.epoch == accepted->epoch && head.digest != accepted->digest);
}

// What is to be done where the registry has nothing new.
FleetStep Meanwhile(const HeadFacts& facts) {
  if (facts.own) return FleetStep::kPublish;
  if (facts.trial)
    return facts.serves_trial ? FleetStep::kNothing : FleetStep::kTry;
  return facts.stray ? FleetStep::kGoBack : FleetStep::kNothing;
}

// Whether what a revoked key signed stands for as long as nothing newer does.
bool Stands(const HeadFacts& facts, const std::optional<FleetHead>& other) {
  return facts.lapsed && !facts.misused &&
         (!other || other->epoch <= facts.lapsed->epoch);
}

}  // namespace

FleetStep NextFleetStep(const HeadFacts& facts) {
  const FleetStep otherwise = Meanwhile(facts);
  const FleetStep sign_anew =
      facts.own || !facts.signs_lapsed ? otherwise : FleetStep::kSignAnew;
  switch (facts.verdict) {
    case HeadVerdict::kForeign:
      return FleetStep::kNothing;
    case HeadVerdict::kGood:
      if (Stands(facts, facts.registered)) return sign_anew;
      if (IsNews(*facts.registered, facts.accepted))
        return facts.unusable && facts.own ? FleetStep::kPublish
                                           : FleetStep::kAdopt;
      if (facts.registered->epoch < facts.accepted->epoch)
        return facts.own ? FleetStep::kPublish : FleetStep::kRestore;
      return facts.misplaced && !facts.own && !facts.trial ? FleetStep::kAdopt
                                                           : otherwise;
    default:
      if (Stands(facts, facts.accepted)) return sign_anew;
      if (facts.own || !facts.accepted) return otherwise;
      return FleetStep::kRestore;
  }
}

uint64_t NewestFleetEpoch(const HeadFacts& facts) {
  uint64_t newest = 0;
  for (const auto* head : {&facts.registered, &facts.accepted})
    newest = std::max(newest, *head ? (*head)->epoch : 0);
  // The last one that there is can only be of a key that was misused.
  if (facts.lapsed && facts.lapsed->epoch < kMostFleetEpoch)
    newest = std::max(newest, facts.lapsed->epoch);
  return newest;
}

uint64_t NextFleetEpoch(const HeadFacts& facts) {
  return std::max(NewestFleetEpoch(facts), facts.rollout_epoch) + 1;
}

}  // namespace wavetune
