// RocksDbJobStore: JobStore in column family jobs.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_JOB_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_JOB_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/job_store.h"
#include "server/store/rocksdb_database.h"

namespace wavetune {

class RocksDbJobStore : public JobStore {
 public:
  // `database` must outlive the store. Errors: as FromRocksDb.
  static absl::StatusOr<std::unique_ptr<RocksDbJobStore>> Create(
      RocksDbDatabase* database);

  absl::StatusOr<JobRecord> Create(JobRecord job) override;
  absl::Status Update(const JobRecord& job, bool sync) override;
  // Also: DATA_LOSS or FAILED_PRECONDITION for an entry that is damaged or of a
  // newer format (counted as corrupt).
  absl::StatusOr<JobRecord> Get(uint64_t id) override;
  // Cost: one read for each job.
  absl::StatusOr<std::vector<JobRecord>> List(int limit) override;
  absl::Status Delete(const std::vector<uint64_t>& ids) override;

 private:
  explicit RocksDbJobStore(RocksDbDatabase* database);

  absl::Status Write(const JobRecord& job, StoreBatch& batch, bool sync);

  RocksDbDatabase* const database_;
  std::mutex create_mutex_;  // Held while writing a new job: ids in order.
  // Atomic, so that no reader waits for a disk.
  std::atomic<uint64_t> last_id_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_JOB_STORE_H_
