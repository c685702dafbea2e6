// StoredProfile: what a profiling job goes on with: what it, jobs before it and
// earlier profiles have left in the store.
//
// Thread safety: pure function over the store.
#ifndef WAVETUNE_SERVER_JOBS_STORED_PROFILE_H_
#define WAVETUNE_SERVER_JOBS_STORED_PROFILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/sample.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"

namespace wavetune {

struct StoredProfile {
  // Of one or more jobs.
  struct Share {
    int64_t samples = 0;
    int64_t throttled_samples = 0;  // Of them.
    double device_time_us = 0;
  };

  // Of the job's generation.
  std::vector<CandidateRecord> candidates;
  std::vector<Sample> samples;
  Share own;
  Share of_other_jobs;
  // Of earlier generations, the newest last.
  std::vector<Sample> earlier_samples;
};

// Returns what is stored under the job's key. Throttled samples of other jobs
// of its generation are left out, to be measured anew now that the device may
// be cooler, unless the job only refits. Errors: the store's.
absl::StatusOr<StoredProfile> LoadStoredProfile(SampleStore& store,
                                                const JobRecord& job);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_STORED_PROFILE_H_
