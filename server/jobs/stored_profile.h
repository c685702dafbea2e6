// The samples and records that a profiling job goes on with: its own, and those
// of jobs before it and earlier profiles. They also verify a refit, without a
// device.
//
// Thread safety: pure functions over the store.
#ifndef WAVETUNE_SERVER_JOBS_STORED_PROFILE_H_
#define WAVETUNE_SERVER_JOBS_STORED_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fit/plan/verification.h"
#include "fit/profile.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/sample.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"

namespace wavetune {

struct StoredProfile {
  // In one or more jobs.
  struct Share {
    int64_t samples = 0;
    int64_t throttled_samples = 0;  // Throttled ones among them.
    double device_time_us = 0;
  };

  // Those of the job's generation.
  std::vector<CandidateRecord> candidates;
  std::vector<Sample> samples;
  Share own;
  Share of_other_jobs;
  // From earlier generations, the newest last.
  std::vector<Sample> earlier_samples;
};

// Returns the profile stored under the job's key; for a class samples of
// several devices are made comparable (NormaliseByDevice). Throttled samples of
// other jobs of its generation are left out, to be measured anew now that the
// device may be cooler, unless the job only refits. Errors: the store's.
absl::StatusOr<StoredProfile> LoadStoredProfile(SampleStore& store,
                                                const JobRecord& job);

// Returns all that profiles have stored under a key, measured problems apart:
// samples oldest first, and of each candidate the latest record. Samples of
// several devices are as they were measured (NormaliseByDevice makes them
// comparable). Errors: the store's.
absl::StatusOr<SampleSet> LoadProfilesOf(SampleStore& store,
                                         const ProfileKey& key);

// Returns the samples without where and when.
std::vector<Sample> SamplesOf(const SampleSet& set);

// Returns a plan over the problems at which the new table's choice, the
// incumbent's and the default were all measured. (The incumbent's is the
// default's where `incumbent` is nullptr.) Fills `measured` with the last
// sample of each item. Where the default is excluded it is not compared with.
// Cannot fail: the plan may be empty.
VerificationPlan PlanStoredVerification(const ProfileInput& input,
                                        const CompiledTable& table,
                                        const CompiledTable* incumbent,
                                        std::vector<Sample>* measured);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_STORED_PROFILE_H_
