// FleetHeadStore: the newest heads of the fleet that this node has accepted, as
// they were signed. So an older one is known for what it is, and a registry
// that has lost them gets them back.
//
// Contract suite: server/store/fleet_head_store_contract_test.h.
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_H_
#define WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

class FleetHeadStore {
 public:
  virtual ~FleetHeadStore() = default;

  // Keeps the bytes of a head by its key in the registry, in the place of those
  // before. Synced. Errors: RESOURCE_EXHAUSTED on a full disk, INTERNAL on
  // other I/O errors; then nothing changed.
  virtual absl::Status Put(absl::string_view key, absl::string_view bytes) = 0;

  // Returns all, by key.
  virtual absl::StatusOr<std::map<std::string, std::string>> List() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_H_
