// FleetRollouts: drives rollouts (fleet_rollout.h) from stage to stage, one
// node each.
//
// The node whose table it is drives it. Where that has died, another one of the
// class does whose key may sign: it signs the stages from then on, and the head
// at their end. The next step follows from the state of all nodes
// (NextRolloutStep).
//
// Thread safety: thread-safe; one thread of its own waits for the network.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_ROLLOUTS_H_
#define WAVETUNE_SERVER_FLEET_FLEET_ROLLOUTS_H_

#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/periodic_task.h"
#include "server/fleet/fleet_presence.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_tables.h"

namespace wavetune {

class FleetRollouts {
 public:
  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    FleetTables* tables = nullptr;
    FleetPresence* presence = nullptr;
    Clock* clock = nullptr;
    std::string node;
    std::chrono::milliseconds look_interval{1000};
    // How long a rollout is without a driver before another node drives it; up
    // to twice that.
    std::chrono::milliseconds patience{10000};
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };

  explicit FleetRollouts(Options options) : options_(std::move(options)) {}
  ~FleetRollouts() { Stop(); }

  void Start() {
    task_.Start(options_.look_interval, [this] { Look(); });
  }
  // Waits for a call that is under way: stop the registry before.
  void Stop() { task_.Stop(); }

 private:
  using Rollout = FleetTables::Rollout;
  using Time = std::chrono::steady_clock::time_point;

  void Look();
  // Becomes its driver, where it is this node's turn.
  void Campaign(const Rollout& rollout);
  absl::Status Drive(const Rollout& rollout);
  // Once for each reason.
  void SayWaits(const Rollout& rollout, const std::string& why);
  absl::Status SetStage(const Rollout& rollout, int32_t stage,
                        const std::vector<std::string>& nodes);
  absl::Status Finish(const Rollout& rollout);
  absl::Status Halt(const Rollout& rollout, const std::string& why);
  // Takes away what leads to nothing any more.
  absl::Status Remove(const Rollout& rollout);
  // Errors: as FleetRegistry::Commit.
  absl::Status Commit(const std::vector<FleetWrite>& writes);
  void Log(bool warning, const Rollout& rollout, const std::string& what);

  const Options options_;
  // The stage of a rollout that this node drives, and since when it sees it: by
  // no clock but its own.
  struct Stage {
    int64_t revision = 0;
    Time since{};
    std::string waits = {};  // Why it goes no further, as was said last.
  };
  // The task's own: when this node drives what nobody does, and the stages of
  // what it does drive, by place.
  std::map<std::string, Time> turns_;
  std::map<std::string, Stage> stages_;
  std::mt19937_64 random_{std::random_device{}()};
  PeriodicTask task_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_ROLLOUTS_H_
