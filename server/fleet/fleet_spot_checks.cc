#include "server/fleet/fleet_spot_checks.h"

#include <algorithm>

#include "fit/plan/drift_report.h"

namespace wavetune {

void FleetSpotChecks::OnAdopted(const ProfileKey& key,
                                const std::string& digest,
                                const std::string& replaced) {
  const std::vector<AgentDirectory::Known> devices = options_.devices();
  const bool idle = std::any_of(
      devices.begin(), devices.end(), [&](const AgentDirectory::Known& known) {
        return known.usable() && IsOfClass(known.record.facts, key) &&
               (!known.state || known.state->busy.empty());
      });
  if (!idle) return;
  ReprofileRequest request{.kernel = key.kernel,
                           .silicon_key = key.silicon_key,
                           .environment_key = key.environment_key,
                           .priority = -JobRequests::kMaxPriority,
                           .reason = "spot check of the fleet's table",
                           .options = {.budget_s = kBudgetS,
                                       .drift_probe = true,
                                       .verify_digest = digest,
                                       .against_digest = replaced},
                           .fingerprint = key.fingerprint};
  // One that a kernel was edited for, or that has gone, needs none.
  options_.reprofile(request).IgnoreError();
}

void FleetSpotChecks::OnJob(const JobRecord& job) {
  if (!job.finished() || job.options.verify_digest.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (job.state == JobState::kSucceeded)
      problems_.erase(job.options.verify_digest);
    if (!job.disproves()) return;
    if (problems_.size() >= kMostProblems) problems_.clear();
    problems_[job.options.verify_digest] = job.message;
  }
  options_.disagrees(job);
}

std::string FleetSpotChecks::ProblemOf(const std::string& digest) {
  const std::lock_guard lock(mutex_);
  const auto problem = problems_.find(digest);
  return problem == problems_.end() ? "" : problem->second;
}

}  // namespace wavetune
