// FleetHeadStore: the newest heads of the fleet that this node has accepted, as
// they were signed. So an older one is known for what it is, and a registry
// that has lost them gets them back.
//
// Contract suite: server/store/fleet_head_store_contract_test.h.
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_H_
#define WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

struct StoredFleetHead {
  std::string bytes;         // As it was signed.
  uint64_t table_epoch = 0;  // TableRecord::epoch of its table here.
  // The last halted rollout's: no later one has such an epoch, and its table
  // serves no more. 0: none was.
  uint64_t halted_epoch = 0;
  std::string halted_digest;
  std::string halted_why;

  friend bool operator==(const StoredFleetHead&,
                         const StoredFleetHead&) = default;
};

class FleetHeadStore {
 public:
  virtual ~FleetHeadStore() = default;

  // Keeps a head by its key in the registry, in the place of the one before.
  // Synced. Errors: RESOURCE_EXHAUSTED on a full disk, INTERNAL on other I/O
  // errors; then nothing changed.
  virtual absl::Status Put(absl::string_view key,
                           const StoredFleetHead& head) = 0;

  // Returns all, by key.
  virtual absl::StatusOr<std::map<std::string, StoredFleetHead>> List() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_H_
