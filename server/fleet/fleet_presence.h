// FleetPresence: tells the fleet that this node lives and what it serves, and
// asks what the others do.
//
//   FleetPresence presence({.registry = &registry, .state = …});
//   presence.Start();
//
// The entry is bound to the node's session: it goes within a session's
// time after the node. A change is told after a random part of `interval`.
// So a fleet of many nodes that adopt one table does not keep its registry
// busy.
//
// Somebody may delete it: the node looks every now and then, and tells it
// again. Another live node of the same name is left alone: this one is absent
// then, and says so.
//
// Each node has a session, whatever else it asks the registry for. The
// session's state, and whether entries are taken, is how the registry answers
// this node (outage).
//
// Thread safety: thread-safe; one thread of its own waits for the network.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_PRESENCE_H_
#define WAVETUNE_SERVER_FLEET_FLEET_PRESENCE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune {

class FleetPresence {
 public:
  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    // What to tell, without the instance.
    std::function<FleetNode()> state;
    std::chrono::milliseconds look_interval{1000};
    std::chrono::milliseconds interval{10000};
    // Between looks whether it is still there; half of it is random.
    std::chrono::milliseconds check_interval{45000};
    // How long an entry of the same name may be of this node's session
    // before.
    std::chrono::milliseconds twin_patience{90000};
    // How old what Nodes returns may be.
    std::chrono::milliseconds most_age{10000};
    // Why watches of the registry hear nothing; empty: they do.
    std::function<std::string()> silence = [] { return std::string(); };
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };

  explicit FleetPresence(Options options);
  ~FleetPresence();  // Stops.

  void Start();
  // Stops the registry, too.
  void Stop();

  // Memory of the nodes that Nodes returns, about.
  static constexpr size_t kMostNodesBytes = size_t{64} << 20;

  // Returns the nodes that live. Errors: the registry's; RESOURCE_EXHAUSTED
  // where they tell too much. May wait for it.
  absl::StatusOr<std::vector<FleetNode>> Nodes();

  // Returns why this node does not show itself though the registry answers;
  // empty: it does.
  std::string problem();

  // How the registry answers this node.
  struct Outage {
    std::string why;       // Empty: it does.
    bool silent = false;   // It does not answer at all.
    bool reached = false;  // It has, since the start.
  };
  Outage outage();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void Run();
  void Look();
  // Finds out whether what it told is still there.
  void Check();
  // Notes how the registry answers, and says where that is another way.
  void Judge();
  // Errors: ABORTED where another one is there.
  absl::Status WriteEntry(const std::string& place, const std::string& bytes);
  void ResolveNameClash(const FleetEntry& other);

  const Options options_;
  const std::string instance_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  bool awake_ = true;
  std::string problem_;
  Outage outage_{.why = "it has not answered yet"};
  std::mutex listing_;  // Held while nodes are listed.
  // Guarded by listing_.
  std::vector<FleetNode> nodes_;
  Time listed_at_{};
  // The thread's own.
  std::string told_;
  int64_t revision_ = 0;      // The told entry's.
  std::optional<Time> next_;  // When a change is told.
  const Time began_ = std::chrono::steady_clock::now();
  std::string name_;  // That it told.
  Time check_at_{};
  absl::Status told_status_;  // The last try's to tell.
  bool said_outage_ = false;
  std::optional<Time> twin_since_;
  std::mt19937_64 random_{std::random_device{}()};
  std::unique_ptr<FleetRegistry::WatchHandle> session_;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_PRESENCE_H_
