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

}  // namespace

FleetStep NextFleetStep(const HeadFacts& facts) {
  const FleetStep otherwise = Meanwhile(facts);
  switch (facts.verdict) {
    case HeadVerdict::kForeign:
      return FleetStep::kNothing;
    case HeadVerdict::kGood:
      if (IsNews(*facts.registered, facts.accepted))
        return facts.unusable && facts.own ? FleetStep::kPublish
                                           : FleetStep::kAdopt;
      if (facts.registered->epoch < facts.accepted->epoch)
        return facts.own ? FleetStep::kPublish : FleetStep::kRestore;
      return otherwise;
    default:
      if (facts.own || !facts.accepted) return otherwise;
      return FleetStep::kRestore;
  }
}

uint64_t NextFleetEpoch(const HeadFacts& facts) {
  return std::max(facts.registered ? facts.registered->epoch : 0,
                  facts.accepted ? facts.accepted->epoch : 0) +
         1;
}

}  // namespace wavetune
