// PlanNext: what to measure next, from the samples alone.
#ifndef WAVETUNE_FIT_PLAN_PLAN_NEXT_H_
#define WAVETUNE_FIT_PLAN_PLAN_NEXT_H_

#include <cstdint>
#include <vector>

#include "fit/profile.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

enum class ProfilePhase { kScreening, kSampling, kRefining, kDone };

struct ProfileStep {
  ProfilePhase phase = ProfilePhase::kDone;
  std::vector<MeasureItem> items;  // Empty: done, unless it awaits something.
  // Nothing can be planned before pending items have been measured.
  bool awaits_pending = false;
  // Estimate of all samples of the profile, for progress.
  int64_t samples_planned = 0;
};

// Returns the next items to measure, never one that already has a usable sample
// or that failed (`failed` lists pairs that could not be measured). Cannot
// fail: with nothing left to do it returns kDone. Of specialisations that are
// refined the one with the fewest samples a candidate goes first.
//
// `pending`: pairs that are being measured. They are not planned again and
// count as samples, so that a step can be planned beside the one before. Which
// anchors a phase measures does not depend on them; the next phase waits.
//
// Deterministic. Cost: up to about a second for 200 candidates.
ProfileStep PlanNext(const ProfileInput& input,
                     const std::vector<MeasureItem>& failed = {},
                     const std::vector<MeasureItem>& pending = {});

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_PLAN_NEXT_H_
