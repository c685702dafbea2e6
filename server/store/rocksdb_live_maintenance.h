// RocksDbLiveMaintenance: StoreMaintenance over an open database.
//
// Thread safety: as StoreMaintenance.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_LIVE_MAINTENANCE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_LIVE_MAINTENANCE_H_

#include <string>

#include "server/store/rocksdb_database.h"
#include "server/store/store_maintenance.h"

namespace wavetune {

class RocksDbLiveMaintenance : public StoreMaintenance {
 public:
  // `database` outlives it.
  explicit RocksDbLiveMaintenance(RocksDbDatabase* database)
      : database_(database) {}

  absl::StatusOr<Result> Check(const Control& control) override;
  absl::StatusOr<Result> BackUp(const std::string& folder,
                                const Control& control) override;
  absl::StatusOr<int64_t> NewestBackupS(const std::string& folder) override;
  absl::StatusOr<Result> Compact(const Control& control) override;

 private:
  RocksDbDatabase* const database_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_LIVE_MAINTENANCE_H_
