// RocksDbUsageStore: UsageStore in column family kernels.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_USAGE_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_USAGE_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/rocksdb_database.h"
#include "server/store/usage_store.h"

namespace wavetune {

class RocksDbUsageStore : public UsageStore {
 public:
  // `database` must outlive the store.
  explicit RocksDbUsageStore(RocksDbDatabase* database) : database_(database) {}

  absl::Status Put(const UsageRecord& record) override;
  absl::Status Delete(const std::string& kernel,
                      const std::string& silicon_key) override;
  absl::StatusOr<std::vector<UsageRecord>> List() override;

 private:
  RocksDbDatabase* const database_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_USAGE_STORE_H_
