#include "server/jobs/step_planner.h"

#include <algorithm>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Removes what must not or cannot be measured any more.
void RemoveFailed(const ProfileInput& input,
                  const std::vector<MeasureItem>& failed,
                  std::vector<MeasureItem>& items) {
  std::set<std::pair<std::string, Configuration>> excluded;
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  for (size_t i = 0; i < input.candidates.size(); ++i) {
    for (const Candidate& candidate : input.candidates[i]) {
      if (candidate.excluded()) {
        excluded.emplace(names[i], candidate.configuration);
      }
    }
  }
  std::erase_if(items, [&](const MeasureItem& item) {
    return excluded.contains(
               {item.problem.specialisation, item.configuration}) ||
           std::find(failed.begin(), failed.end(), item) != failed.end();
  });
}

}  // namespace

StepPlanner::~StepPlanner() {
  if (thread_.joinable()) thread_.join();
}

ProfileStep StepPlanner::Next(const ProfileInput& input,
                              const std::vector<MeasureItem>& failed) {
  if (thread_.joinable()) {
    thread_.join();
    ProfileStep step = std::move(planned_);
    RemoveFailed(input, failed, step.items);
    if (!step.items.empty()) return step;
  }
  return services_.profiling.plan_next(input, failed, {});
}

void StepPlanner::PlanBeside(const ProfileInput& input,
                             const std::vector<MeasureItem>& failed,
                             const std::vector<MeasureItem>& pending) {
  if (thread_.joinable()) thread_.join();
  try {
    thread_ = services_.start_thread([this, input, failed, pending] {
      planned_ = services_.profiling.plan_next(input, failed, pending);
    });
  } catch (const std::system_error&) {
    // Later, then.
  }
}

}  // namespace wavetune
