// StepPlanner: what a profile measures next, planned beside the measuring
// where several boards would wait for it.
//
//   StepPlanner planner(services);
//   for (;;) {
//     const ProfileStep step = planner.Next(input, failed);
//     if (step.items.empty()) break;
//     if (boards > 1) planner.PlanBeside(input, failed, step.items);
//     Measure(step.items);  // Adds to input and failed.
//   }
//
// Why not for one board: what it measures next would follow from less
// (docs/decisions/0065).
//
// Thread safety: none; plans on one thread of its own, with copies.
#ifndef WAVETUNE_SERVER_JOBS_STEP_PLANNER_H_
#define WAVETUNE_SERVER_JOBS_STEP_PLANNER_H_

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
  // Waits for what is being planned.
  ~StepPlanner();

  StepPlanner(const StepPlanner&) = delete;
  StepPlanner& operator=(const StepPlanner&) = delete;

  // Returns the next step: what was planned beside the one before, without
  // candidates that `input` has as excluded by now and pairs of `failed`; where
  // that is nothing, what follows from all that is known. As PlanNext.
  ProfileStep Next(const ProfileInput& input,
                   const std::vector<MeasureItem>& failed);

  // Begins to plan what follows once `pending` is measured. Cannot fail:
  // without a thread the next step is planned when it is asked for.
  void PlanBeside(const ProfileInput& input,
                  const std::vector<MeasureItem>& failed,
                  const std::vector<MeasureItem>& pending);

 private:
  const JobServices& services_;
  std::thread thread_;
  ProfileStep planned_;  // By the thread, until it is joined.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_STEP_PLANNER_H_
