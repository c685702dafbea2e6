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
  std::vector<DeviceRecord> devices;
  RETURN_IF_ERROR(database_->Scan(
      Family::kDevices, "",
      [&](absl::string_view key, absl::string_view value) {
        absl::StatusOr<DeviceRecord> device = DecodeStoredDevice(value);
        if (device.ok() && device->facts.uuid != key) {
          device = absl::DataLossError("the entry belongs to another UUID");
        }
        if (device.ok()) {
          devices.push_back(*std::move(device));
        } else {
          database_->ReportCorrupt(Family::kDevices, key, device.status());
        }
        return true;
      }));
  return devices;
}

}  // namespace wavetune
