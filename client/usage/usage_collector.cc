#include "client/usage/usage_collector.h"

#include <algorithm>
#include <utility>

namespace wavetune {
namespace {

bool HasRepeated(const std::vector<Dimension>& dimensions) {
  return std::any_of(dimensions.begin(), dimensions.end(),
                     [](const Dimension& d) { return d.repeated; });
}

Problem ProblemOf(const UsageIdentity& identity,
                  DrainedUsage::Sampled sampled) {
  Problem problem{.extents = std::move(sampled.extents),
                  .repeated = std::move(sampled.repeated),
                  .specialisation = identity.specialisation};
  // The slot of a repeated dimension is ignored, and so means nothing.
  for (size_t i = 0; i < problem.extents.size(); ++i) {
    if (identity.dimensions[i].repeated) problem.extents[i] = 0;
  }
  return problem;
}

}  // namespace

UsageCollector::Recorded::Recorded(UsageIdentity i)
    : identity(std::move(i)),
      recorder(std::make_shared<UsageRecorder>(
          identity.dimensions.size(), HasRepeated(identity.dimensions))) {}

std::shared_ptr<UsageRecorder> UsageCollector::Recorder(
    const UsageIdentity& identity) {
  if (identity.dimensions.empty()) return nullptr;
  std::lock_guard lock(mutex_);
  for (const Recorded& recorded : recorded_) {
    if (recorded.identity == identity) return recorded.recorder;
  }
  if (recorded_.size() >= kMostRecorders) return nullptr;
  return recorded_.emplace_back(identity).recorder;
}

void UsageCollector::Recorded::Drain() {
  DrainedUsage drained;
  recorder->Drain(&drained);
  counts += drained.counts;
  for (DrainedUsage::Sampled& sampled : drained.sampled) {
    const double decisions = sampled.decisions;
    problems.Add(ProblemOf(identity, std::move(sampled)), decisions);
  }
}

void UsageCollector::Drain() {
  std::lock_guard lock(mutex_);
  for (Recorded& recorded : recorded_) recorded.Drain();
}

UsageBatch UsageCollector::Collected() const {
  std::lock_guard lock(mutex_);
  UsageBatch batch;
  for (const Recorded& recorded : recorded_) {
    if (recorded.counts.total() == 0) continue;
    batch.kernels.push_back({.identity = recorded.identity,
                             .counts = recorded.counts,
                             .problems = recorded.problems.Top(kMostProblems)});
  }
  return batch;
}

bool UsageCollector::Recorded::ClearAndTell() {
  counts = {};
  problems.Clear();
  if (recorder.use_count() > 1) return true;
  // The last tuner may have decided since Drain, and left. Giving up a copy
  // happens after it gave up its own, which use_count does not promise. (A
  // fence would, too, but ThreadSanitizer knows none.)
  std::shared_ptr<UsageRecorder>(recorder).reset();
  Drain();
  return counts.total() > 0;
}

void UsageCollector::Clear() {
  std::lock_guard lock(mutex_);
  for (auto it = recorded_.begin(); it != recorded_.end();) {
    it = it->ClearAndTell() ? it + 1 : recorded_.erase(it);
  }
}

}  // namespace wavetune
