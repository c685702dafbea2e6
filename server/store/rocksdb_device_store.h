// RocksDbDeviceStore: DeviceStore in column family devices.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_DEVICE_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_DEVICE_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/device_store.h"
#include "server/store/rocksdb_database.h"

namespace wavetune {

class RocksDbDeviceStore : public DeviceStore {
 public:
  // `database` must outlive the store.
  explicit RocksDbDeviceStore(RocksDbDatabase* database)
      : database_(database) {}

  absl::Status Put(const DeviceRecord& device) override;
  absl::Status Delete(const std::string& uuid) override;
  absl::StatusOr<std::vector<DeviceRecord>> List() override;

 private:
  RocksDbDatabase* const database_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_DEVICE_STORE_H_
