// FleetTables: a node's serving tables and the fleet's heads, brought together.
//
//   FleetTables fleet({.registry = &registry, .tables = &catalog, …});
//   RETURN_IF_ERROR(fleet.Start());
//
// It watches the heads of the classes of this node's devices. A head that is
// signed by who may, and newer than what was accepted, is adopted: its payload
// is fetched once, after a random wait, judged as an imported table, and
// served. What a job of this node promotes is published: payload and head in
// one commit that expects the head that it was compared with. Whoever loses
// adopts the winner; its own table stays a candidate.
//
// Nothing is queued. What to do about a head follows from three facts: what the
// registry has, what was accepted, and what serves. So it is the same after a
// partition, a restart, and a registry that was restored from a backup, which
// gets the newer heads back from the nodes that have them.
//
// Thread safety: thread-safe; one thread of its own waits for the network.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_TABLES_H_
#define WAVETUNE_SERVER_FLEET_FLEET_TABLES_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/signing_key.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/fleet_view.h"
#include "server/store/fleet_head_store.h"

namespace wavetune {

class FleetTables {
 public:
  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    const TableAdmission* admission = nullptr;
    FleetHeadStore* accepted = nullptr;
    Clock* clock = nullptr;
    std::string node;  // Its name in the fleet.
    FleetTrust trust;
    // nullptr: this node publishes nothing.
    std::shared_ptr<const SigningKey> key;
    // A payload is fetched after a random part of it, so that the nodes of a
    // class do not come at once.
    std::chrono::milliseconds jitter{1000};
    // Between looks at devices, and at what could not be done.
    std::chrono::milliseconds look_interval{2000};
    // Hears once of each thing that is wrong with a head, and of outages.
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };

  using Counts = FleetView::Counts;

  explicit FleetTables(Options options);
  ~FleetTables();  // Stops.

  // Reads what was accepted, and begins. Errors: the store's.
  absl::Status Start();
  void Stop();

  FleetView View();

 private:
  // What is known of one head.
  struct State {
    std::optional<FleetEntry> registered;  // What the registry has.
    std::optional<SignedHead> accepted;
    std::string accepted_bytes;
    std::string fetched;  // The payload of a head that is not accepted yet.
    std::string behind;
  };
  struct Watched {
    std::unique_ptr<FleetRegistry::WatchHandle> watch;
    bool listed = false;  // What the registry has is known.
  };

  void Run();
  void Wake();
  // Watches the classes of devices that are known by now.
  void WatchClasses();
  void OnNews(const std::string& fleet_class, const FleetNews& news);
  // Does what is to be done about one head. Errors: what to try again.
  absl::Status Settle(const std::string& key);
  absl::Status Adopt(const std::string& key, const FleetEntry& entry,
                     const SignedHead& head);
  absl::Status KeepAsCandidate(const TableRecord& own, const FleetHead& winner);
  absl::Status Publish(const std::string& key, const State& state,
                       const TableRecord& own);
  absl::Status Restore(const std::string& key, const State& state);
  // Returns the entry's head, where it counts.
  std::optional<SignedHead> Judge(const std::string& key,
                                  const FleetEntry& entry);
  absl::StatusOr<std::string> Fetch(const FleetHead& head);
  absl::Status Accept(const std::string& key, const std::string& bytes,
                      const SignedHead& head);
  // Returns what a job of this node promoted for that head, where it serves.
  std::optional<TableRecord> OwnTable(const std::string& key) const;
  void Count(int64_t Counts::*counter);
  void SetBehind(const std::string& key, const std::string& why);
  // Returns whether it is new.
  bool WarnOnce(const std::string& text);

  const Options options_;
  TableCatalog::Handle catalog_handle_;
  std::mt19937_64 random_{std::random_device{}()};  // Of the thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  bool awake_ = true;
  std::map<std::string, State> heads_;  // By key.
  std::map<std::string, Watched> classes_;
  std::set<std::string> warned_;
  std::string outage_;
  Counts counts_;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_TABLES_H_
