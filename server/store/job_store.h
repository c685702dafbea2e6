// JobStore: jobs, so that a restarted daemon goes on where it was.
//
// Contract suite: server/store/job_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_JOB_STORE_H_
#define WAVETUNE_SERVER_STORE_JOB_STORE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/records.h"

namespace wavetune {

class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores a new job under the next id (ids grow and are never reused) and
  // returns it. Synced. Errors: as SampleStore::Append.
  virtual absl::StatusOr<JobRecord> Create(JobRecord job) = 0;

  // Overwrites a job. Synced only when `sync` (state changes): progress may be
  // lost in a crash. NOT_FOUND for an unknown id.
  virtual absl::Status Update(const JobRecord& job, bool sync) = 0;

  // Returns a job. NOT_FOUND for an unknown id.
  virtual absl::StatusOr<JobRecord> Get(uint64_t id) = 0;

  // Returns the newest `limit` jobs, newest first.
  virtual absl::StatusOr<std::vector<JobRecord>> List(int limit) = 0;

  // Forgets jobs; one that is not there is no error. Synced. Errors: as Create.
  virtual absl::Status Delete(const std::vector<uint64_t>& ids) = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_JOB_STORE_H_
