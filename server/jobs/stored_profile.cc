#include "server/jobs/stored_profile.h"

#include <utility>

#include "base/status_macros.h"

namespace wavetune {

absl::StatusOr<StoredProfile> LoadStoredProfile(SampleStore& store,
                                                const JobRecord& job) {
  StoredProfile profile;
  ASSIGN_OR_RETURN(SampleSet stored, store.Load(job.key, job.generation));
  profile.candidates = std::move(stored.candidates);
  for (SampleRecord& record : stored.samples) {
    const bool is_own = record.job_id == job.id;
    const bool throttled = record.sample.throttled;
    if (throttled && !is_own && !job.refit_only) continue;
    StoredProfile::Share& share = is_own ? profile.own : profile.of_other_jobs;
    ++share.samples;
    share.throttled_samples += throttled ? 1 : 0;
    share.device_time_us += record.sample.device_time_us;
    profile.samples.push_back(std::move(record.sample));
  }
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   store.Generations(job.key));
  for (const uint64_t generation : generations) {
    if (generation == kMeasuredGeneration || generation >= job.generation) {
      continue;
    }
    ASSIGN_OR_RETURN(SampleSet earlier, store.Load(job.key, generation));
    for (SampleRecord& record : earlier.samples) {
      profile.earlier_samples.push_back(std::move(record.sample));
    }
  }
  return profile;
}

}  // namespace wavetune
