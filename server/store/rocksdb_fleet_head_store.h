// RocksDbFleetHeadStore: FleetHeadStore in column family kernels.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_FLEET_HEAD_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_FLEET_HEAD_STORE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/fleet_head_store.h"
#include "server/store/rocksdb_database.h"

namespace wavetune {

class RocksDbFleetHeadStore : public FleetHeadStore {
 public:
  // `database` must outlive the store.
  explicit RocksDbFleetHeadStore(RocksDbDatabase* database)
      : database_(database) {}

  absl::Status Put(absl::string_view key, const StoredFleetHead& head) override;
  absl::StatusOr<std::map<std::string, StoredFleetHead>> List() override;

 private:
  RocksDbDatabase* const database_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_FLEET_HEAD_STORE_H_
