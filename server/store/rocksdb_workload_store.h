// RocksDbWorkloadStore: WorkloadStore in column family kernels.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_WORKLOAD_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_WORKLOAD_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/rocksdb_database.h"
#include "server/store/workload_store.h"

namespace wavetune {

class RocksDbWorkloadStore : public WorkloadStore {
 public:
  // `database` must outlive the store.
  explicit RocksDbWorkloadStore(RocksDbDatabase* database)
      : database_(database) {}

  absl::Status Put(const WorkloadRecord& record) override;
  absl::Status Delete(const std::string& name) override;
  absl::StatusOr<WorkloadRecord> Get(const std::string& name) override;
  absl::StatusOr<std::vector<WorkloadRecord>> List() override;

 private:
  RocksDbDatabase* const database_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_WORKLOAD_STORE_H_
