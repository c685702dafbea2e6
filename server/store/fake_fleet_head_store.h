// FakeFleetHeadStore: a FleetHeadStore in memory. Thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_FLEET_HEAD_STORE_H_
#define WAVETUNE_SERVER_STORE_FAKE_FLEET_HEAD_STORE_H_

#include <map>
#include <mutex>
#include <string>

#include "server/store/fleet_head_store.h"

namespace wavetune {

class FakeFleetHeadStore : public FleetHeadStore {
 public:
  absl::Status Put(absl::string_view key,
                   const StoredFleetHead& head) override {
    const std::lock_guard lock(mutex_);
    heads_[std::string(key)] = head;
    return absl::OkStatus();
  }
  absl::StatusOr<std::map<std::string, StoredFleetHead>> List() override {
    const std::lock_guard lock(mutex_);
    return heads_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, StoredFleetHead> heads_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_FLEET_HEAD_STORE_H_
