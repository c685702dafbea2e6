// StepPlanner: what a profile measures next, planned beside the measuring
// where several devices would wait for it.
//
//   StepPlanner planner(services);
//   for (;;) {
//     const ProfileStep step = planner.Next(input, failed);
//     if (step.items.empty()) break;
//     if (devices > 1) planner.PlanBeside(input, failed);
//     Measure(step.items);  // Adds to input and failed, and says Done.
//   }
//
// Devices that would be idle before all of a step is measured go on with the
// next one, where that is planned by then (TryNext).
//
// Why not for one device: what it measures next would follow from less
// (docs/decisions/0065).
//
// Thread safety: none; plans on one thread of its own, with copies.
#ifndef WAVETUNE_SERVER_JOBS_STEP_PLANNER_H_
#define WAVETUNE_SERVER_JOBS_STEP_PLANNER_H_

#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include "fit/plan/plan_next.h"
#include "fit/profile.h"
#include "model/kernel/measure_item.h"
#include "server/jobs/job_services.h"

namespace wavetune {

class StepPlanner {
 public:
  // `services` outlives this.
  explicit StepPlanner(const JobServices& services) : services_(services) {}
  // Waits for the step that is being planned.
  ~StepPlanner();

  StepPlanner(const StepPlanner&) = delete;
  StepPlanner& operator=(const StepPlanner&) = delete;

  // Returns the next step: the one planned beside the one before, without
  // candidates that `input` has as excluded by now and pairs of `failed`. Where
  // that is empty, it is planned from all samples. As PlanNext. Its items are
  // pending from now on, and those of before are not.
  ProfileStep Next(const ProfileInput& input,
                   const std::vector<MeasureItem>& failed);

  // Returns the step planned beside, where that is ready and not empty; does
  // not wait. Its items are pending as well.
  std::optional<ProfileStep> TryNext(const ProfileInput& input,
                                     const std::vector<MeasureItem>& failed);

  // Returns an item by its place among those of the last Next and of each
  // TryNext since; it is not pending any more.
  const MeasureItem& Done(size_t index);

  // Begins to plan what follows once all that is pending is measured. Cannot
  // fail: without a thread the next step is planned when it is asked for.
  void PlanBeside(const ProfileInput& input,
                  const std::vector<MeasureItem>& failed);

 private:
  // Takes what the thread has planned, which has ended.
  ProfileStep TakePlanned(const ProfileInput& input,
                          const std::vector<MeasureItem>& failed);
  void Add(const ProfileStep& step);

  const JobServices& services_;
  std::thread thread_;
  ProfileStep planned_;  // By the thread, until it is joined.
  std::atomic<bool> ready_ = false;
  std::vector<MeasureItem> items_;  // Those being measured.
  std::vector<bool> done_;          // For each.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_STEP_PLANNER_H_
