// FakeFleetRegistry: a FleetRegistry in memory, for tests. Nodes of one fleet
// share a FakeFleet; each can lose its network and its session.
//
//   FakeFleet fleet;
//   FakeFleetRegistry one(&fleet), two(&fleet);
//   one.Disconnect();
//
// Thread safety: thread-safe. Listeners are called from the thread that makes
// the change, or connects.
#ifndef WAVETUNE_SERVER_FLEET_FAKE_FLEET_REGISTRY_H_
#define WAVETUNE_SERVER_FLEET_FAKE_FLEET_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune {

class FakeFleetRegistry;

// What the registries of its nodes share. Outlives them.
class FakeFleet {
 private:
  friend class FakeFleetRegistry;

  struct Value {
    FleetEntry entry;
    const FakeFleetRegistry* owner = nullptr;  // Whose session it is of.
  };

  // A change of everybody's, and telling it, are one step.
  std::recursive_mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, Value> values_;
  int64_t revision_ = 1;
  std::vector<FakeFleetRegistry*> nodes_;
};

class FakeFleetRegistry : public FleetRegistry {
 public:
  explicit FakeFleetRegistry(FakeFleet* fleet);
  ~FakeFleetRegistry() override;  // Its session ends.

  void Stop() override { Disconnect(); }
  using FleetRegistry::Get;
  absl::StatusOr<FleetEntry> Get(absl::string_view key,
                                 size_t most_bytes) override;
  absl::StatusOr<int64_t> Read(absl::string_view prefix,
                               const FleetBounds& bounds,
                               const Taker& take) override;
  absl::StatusOr<int64_t> Commit(
      const std::vector<FleetWrite>& writes) override;
  // Deletes the entries whose keys begin with `prefix`, as an operator would;
  // returns how many.
  absl::StatusOr<int64_t> DeleteBelow(absl::string_view prefix);
  std::unique_ptr<WatchHandle> Watch(absl::string_view prefix,
                                     const FleetBounds& bounds,
                                     Listener listener) override;
  absl::Status Session() override;
  std::unique_ptr<WatchHandle> OnSession(SessionListener listener) override;

  // The network: calls fail meanwhile, and watches hear of an outage, then of
  // everything anew.
  void Disconnect();
  void Connect();
  // Refuses every commit for this reason, as one that is full; OK: no longer.
  void Refuse(absl::Status why);
  // The next commit is made, and its caller told that nobody answered.
  void LoseNextAnswer();
  // As after a partition that outlasts the time to live: the session's entries
  // go; another begins at once where it is connected, else on Connect.
  void EndSession();

 private:
  class Subscription;

  absl::Status Reachable() const;
  FleetListing ListNow(absl::string_view prefix) const;
  // Tells every connected node of changed entries.
  void Deliver(const std::vector<FleetNews::Entry>& changed);
  void BeginSession();
  // The session's entries go.
  void DropSession();

  FakeFleet* const fleet_;
  // Guarded by fleet_->mutex_.
  bool connected_ = true;
  bool session_ = true;
  bool loses_answer_ = false;
  absl::Status refusal_;
  std::vector<Subscription*> subscriptions_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FAKE_FLEET_REGISTRY_H_
