// WorkloadStore: the workloads that were declared, so that a restarted daemon
// still knows which models are served.
//
// Contract suite: server/store/workload_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_WORKLOAD_STORE_H_
#define WAVETUNE_SERVER_STORE_WORKLOAD_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "wavetune/expected_routing.h"

namespace wavetune {

// A workload as it was declared (formats/workload/workload.h), and by whom.
struct WorkloadRecord {
  std::string name;
  std::string config;  // The text of the model's config.json.
  int64_t tensor_parallel = 1;
  int64_t expert_parallel = 1;
  int64_t max_tokens = 0;
  ExpertPopularity routing;
  std::string user;  // Number of the user who added it.
  int64_t added_at_us = 0;

  friend bool operator==(const WorkloadRecord&,
                         const WorkloadRecord&) = default;
};

class WorkloadStore {
 public:
  virtual ~WorkloadStore() = default;

  // Stores or overwrites the record of the name, synced. Errors: as
  // SampleStore::Append.
  virtual absl::Status Put(const WorkloadRecord& record) = 0;

  // Removes a record, synced; OK where there is none.
  virtual absl::Status Delete(const std::string& name) = 0;

  // Returns a record. Errors: NOT_FOUND; DATA_LOSS for a damaged one.
  virtual absl::StatusOr<WorkloadRecord> Get(const std::string& name) = 0;

  // Returns all sound records, sorted by name.
  virtual absl::StatusOr<std::vector<WorkloadRecord>> List() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_WORKLOAD_STORE_H_
