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

ProfileStep StepPlanner::TakePlanned(const ProfileInput& input,
                                     const std::vector<MeasureItem>& failed) {
  thread_.join();
  RemoveFailed(input, failed, planned_.items);
  return std::move(planned_);
}

void StepPlanner::Add(const ProfileStep& step) {
  items_.insert(items_.end(), step.items.begin(), step.items.end());
  done_.resize(items_.size(), false);
}

ProfileStep StepPlanner::Next(const ProfileInput& input,
                              const std::vector<MeasureItem>& failed) {
  ProfileStep step;
  if (thread_.joinable()) step = TakePlanned(input, failed);
  if (step.items.empty()) {
    step = services_.profiling.plan_next(input, failed, {});
  }
  items_.clear();
  done_.clear();
  Add(step);
  return step;
}

std::optional<ProfileStep> StepPlanner::TryNext(
    const ProfileInput& input, const std::vector<MeasureItem>& failed) {
  if (!thread_.joinable() || !ready_) return std::nullopt;
  ProfileStep step = TakePlanned(input, failed);
  if (step.items.empty()) return std::nullopt;
  Add(step);
  return step;
}

const MeasureItem& StepPlanner::Done(size_t index) {
  done_[index] = true;
  return items_[index];
}

void StepPlanner::PlanBeside(const ProfileInput& input,
                             const std::vector<MeasureItem>& failed) {
  if (thread_.joinable()) thread_.join();
  std::vector<MeasureItem> pending;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!done_[i]) pending.push_back(items_[i]);
  }
  ready_ = false;
  try {
    thread_ = services_.start_thread([this, input, failed, pending] {
      planned_ = services_.profiling.plan_next(input, failed, pending);
      ready_ = true;
    });
  } catch (const std::system_error&) {
    // Later, then.
  }
}

}  // namespace wavetune
