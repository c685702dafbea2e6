// FleetDemand: what the nodes of a fleet are asked for: problems that clients
// ask for (server/usage/usage_ledger.h) and workloads that are declared
// (server/catalog/workload_catalog.h), by silicon.
//
//   FleetDemand demand({.registry = &registry, .usage = &usage, …});
//   demand.Start();                       // Tells what this node is asked for.
//   demand.Of("gemm", silicon_key, spec); // For a profile of the fleet.
//
// Use has a fixed number of places for each silicon and kernel. Each node picks
// a random place and writes it if the place is its own or expired. Small fleets
// are covered completely, large ones are sampled; reads, writes and storage are
// constant. A workload has one place, by what it is, which whoever has declared
// it keeps alive.
//
// By silicon and not by class, as the ledger: use does not change with a
// driver.
//
// Why: docs/decisions/0073-demand-of-a-fleet.md.
// Thread safety: thread-safe; Start, Stop and Look from one thread at a time.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_DEMAND_H_
#define WAVETUNE_SERVER_FLEET_FLEET_DEMAND_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/periodic_task.h"
#include "base/signing_key.h"
#include "model/kernel/weighted_problem.h"
#include "server/catalog/workload_catalog.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/jobs/profile_turn.h"
#include "server/usage/usage_ledger.h"

namespace wavetune {

struct KernelSpec;

class FleetDemand {
 public:
  // Places for use, for each silicon and kernel; and in each the heaviest
  // problems.
  static constexpr int kPlaces = 64;
  static constexpr size_t kMostProblems = 64;
  // Workloads of a silicon, and the text of one. Longer ones stay on their
  // node: a registry is none for files.
  static constexpr size_t kMostWorkloads = 256;
  static constexpr size_t kMostConfigBytes = 256 << 10;
  // No node counts for more than so many with the median's decisions.
  static constexpr double kMostOfMedian = 8;
  // Ages after which use may be written over, a workload is told again, and
  // both are forgotten. Times further in the future than a clock may be wrong
  // are older than all of them.
  static constexpr double kFreshS = 600;
  static constexpr double kRefreshS = 12 * 3600;
  static constexpr double kForgottenS = 3 * 86400;

  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    UsageLedger* usage = nullptr;
    WorkloadCatalog* workloads = nullptr;
    Clock* clock = nullptr;
    std::string fleet;  // Its name.
    std::string node;   // This node's in it.
    FleetTrust trust;
    std::shared_ptr<const SigningKey> key;  // nullptr: it tells nothing.
    // Silicon keys of this node's devices, which its workloads are for.
    std::function<std::set<std::string>()> silicon = [] {
      return std::set<std::string>();
    };
    // Between two reports of everything, within a tenth. The first one, and
    // that after an outage, comes after a random part of `first_within`, so
    // that nodes do not report together. A workload that is declared or removed
    // goes with the next look.
    std::chrono::seconds interval{3600};
    std::chrono::seconds first_within{600};
    std::chrono::seconds look_interval{60};
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };

  explicit FleetDemand(Options options);
  ~FleetDemand();  // Stops.

  void Start();
  void Stop();  // Stops the registry, too.

  // Tells due entries; the thread does so every look_interval.
  void Look();

  // Returns what all nodes are asked for, this one with what it knows now.
  // Entries that are not signed by who may sign for the silicon are left out,
  // and logged. Errors: the registry's. Cost: two listings, and some
  // milliseconds for each workload.
  absl::StatusOr<ProfileDemand> Of(const std::string& kernel,
                                   const std::string& silicon_key,
                                   const KernelSpec& spec) const;

 private:
  // What stands at a place.
  struct Told {
    std::string place;
    int64_t revision = 0;
    std::string node;
    int64_t at_us = 0;
    std::string record;  // StoredUsage, StoredWorkload.
  };

  bool MaySign(const std::string& silicon_key) const;
  double AgeS(int64_t at_us) const;
  std::vector<WeightedProblem> OwnUse(const std::string& kernel,
                                      const std::string& silicon_key) const;
  absl::StatusOr<Told> Read(const char* purpose, const FleetEntry& entry,
                            const std::string& silicon_key) const;
  // Calls `take` with each entry below a prefix that counts; its errors refuse
  // one. Deletes forgotten ones.
  absl::Status List(const char* purpose, const std::string& prefix,
                    const std::string& silicon_key,
                    const std::function<absl::Status(const Told&)>& take) const;
  // Returns the revision of an entry that may be written over (0: the place is
  // empty). Nothing where it is to stay: it is younger than `most_age_s`, or
  // its format is a later one.
  absl::StatusOr<std::optional<int64_t>> FreeAt(const char* purpose,
                                                const std::string& place,
                                                const std::string& silicon_key,
                                                double most_age_s,
                                                bool own_is_free) const;
  // OK where another node was first, too.
  absl::Status Write(const char* purpose, const std::string& place,
                     const std::string& silicon_key, const std::string& record,
                     int64_t expected) const;
  // Returns up to Options::first_within.
  Clock::Duration RandomDelay();
  absl::Status TellUse();
  absl::Status TellWorkloads(bool all);
  absl::Status TellWorkload(const WorkloadCatalog::Entry& workload,
                            const std::string& place,
                            const std::string& silicon_key);
  absl::StatusOr<bool> HasRoom(const std::string& silicon_key);
  void SayOnce(const std::string& text);

  const Options options_;
  // Look's alone.
  std::mt19937_64 random_{std::random_device{}()};
  Clock::Duration due_at_;
  bool begun_ = false;
  Clock::Duration full_until_{0};
  std::set<std::string> told_;  // Places of this node's workloads.
  std::set<std::string> said_;
  PeriodicTask looks_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_DEMAND_H_
