#include "server/store/rocksdb_device_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/stored_records.h"

namespace wavetune {

absl::Status RocksDbDeviceStore::Put(const DeviceRecord& device) {
  StoreBatch batch;
  batch.Put(Family::kDevices, device.facts.uuid, EncodeStoredDevice(device));
  return database_->Write(batch, /*sync=*/true,
                          absl::StrCat("store device ", device.facts.uuid));
}

absl::Status RocksDbDeviceStore::Delete(const std::string& uuid) {
  StoreBatch batch;
  batch.Delete(Family::kDevices, uuid);
  return database_->Write(batch, /*sync=*/false,
                          absl::StrCat("forget device ", uuid));
}

absl::StatusOr<std::vector<DeviceRecord>> RocksDbDeviceStore::List() {
  return database_->ReadAll<DeviceRecord>(
      Family::kDevices, "",
      [](absl::string_view key,
         absl::string_view value) -> absl::StatusOr<DeviceRecord> {
        ASSIGN_OR_RETURN(DeviceRecord device, DecodeStoredDevice(value));
        if (device.facts.uuid == key) return device;
        return absl::DataLossError("the entry belongs to another UUID");
      });
}

}  // namespace wavetune
