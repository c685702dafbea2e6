// DeviceStore: devices seen at some time, so that tables can be matched to them
// while their agent is away.
//
// Contract suite: server/store/device_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_DEVICE_STORE_H_
#define WAVETUNE_SERVER_STORE_DEVICE_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/records.h"

namespace wavetune {

class DeviceStore {
 public:
  virtual ~DeviceStore() = default;

  // Stores or overwrites a device by its UUID. Errors: as SampleStore::Append.
  virtual absl::Status Put(const DeviceRecord& device) = 0;

  // Forgets a device; one that is not there is fine. Errors: as Put.
  virtual absl::Status Delete(const std::string& uuid) = 0;

  // Returns all devices, sorted by UUID.
  virtual absl::StatusOr<std::vector<DeviceRecord>> List() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_DEVICE_STORE_H_
