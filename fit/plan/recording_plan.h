// RecordingPlan: what a trace must hold so that whole profiles can run from it
// later (docs/traces.md).
//
//   RecordingPlan plan = PlanRecording(input).value();
//   Record(plan.anchors);
//   Record(plan.representatives);
//
// It has every item that PlanNext and PlanVerification can ask for, whatever
// the samples say. Anchors come from the same plan, continued as a grid
// (fit/models/anchor_plan.h); representative problems are taken with every
// candidate.
//
// Thread safety: pure function.
#ifndef WAVETUNE_FIT_PLAN_RECORDING_PLAN_H_
#define WAVETUNE_FIT_PLAN_RECORDING_PLAN_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "fit/models/anchor_plan.h"
#include "fit/profile.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// Distinct items, of one problem in a row, so that a device that prepares
// buffers for a problem does so once. No item is in both.
struct RecordingPlan {
  std::vector<MeasureItem> anchors;
  std::vector<MeasureItem> representatives;
};

// Returns the plan for the candidates of `input` that compiled, with at most
// `anchors_per_candidate` anchors each, and at least a profile's. Fewer where
// the mapping has fewer problems. The samples of `input` are ignored. Errors:
// as MakeProfileState. Costs microseconds an anchor.
absl::StatusOr<RecordingPlan> PlanRecording(
    const ProfileInput& input, size_t anchors_per_candidate = kGridAnchors);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_RECORDING_PLAN_H_
