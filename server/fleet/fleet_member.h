// FleetMember: all that a daemon is in a fleet: its parts, wired to the rest of
// the daemon, and their order.
//
//   FleetMember fleet({.membership = membership, .tables = &tables, …});
//   RETURN_IF_ERROR(fleet.Start());    // Before jobs and calls.
//   …
//   fleet.Stop();                      // Before jobs end.
//
// One without a registry is in no fleet: it does nothing, and says so.
//
// Thread safety: thread-safe; Start and Stop are called once each.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_MEMBER_H_
#define WAVETUNE_SERVER_FLEET_FLEET_MEMBER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/signing_key.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/event_journal.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/workload_catalog.h"
#include "server/fleet/fleet_demand.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_presence.h"
#include "server/fleet/fleet_profiles.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_rollouts.h"
#include "server/fleet/fleet_spot_checks.h"
#include "server/fleet/fleet_tables.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/fleet_view.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/profile_turn.h"
#include "server/store/fleet_head_store.h"
#include "server/store/sample_store.h"
#include "server/usage/usage_ledger.h"

namespace wavetune {

// How a daemon is a node of a fleet.
struct FleetMembership {
  FleetRegistry* registry = nullptr;  // nullptr: it is none. Outlives it.
  std::string name;                   // The fleet's.
  std::string node;                   // This node's in it.
  FleetTrust trust;
  std::shared_ptr<const SigningKey> key;  // nullptr: it publishes nothing.
};

class FleetMember {
 public:
  // Pointers outlive the object.
  struct Options {
    FleetMembership membership;
    std::string version;  // The program's.
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    KernelCatalog* kernels = nullptr;
    const TableAdmission* admission = nullptr;
    FleetHeadStore* accepted = nullptr;
    JobQueue* jobs = nullptr;
    UsageLedger* usage = nullptr;
    WorkloadCatalog* workloads = nullptr;
    EventJournal* events = nullptr;
    Clock* clock = nullptr;
    std::function<void(bool warning, const std::string&)> log;
  };

  explicit FleetMember(Options options);
  ~FleetMember();  // Stops.

  // Errors: as FleetTables::Start.
  absl::Status Start();
  // Ends the registry's calls. The parts stay: a job that ends at this moment
  // tells them.
  void Stop();

  // As FleetProfiles'; with what the nodes are asked for, where a job for the
  // fleet begins. Where there is no fleet a job may go on.
  absl::StatusOr<ProfileTurn> Await(JobControl* control,
                                    const JobServices::OthersWait& others_wait);
  void OnJob(const JobRecord& job);
  // Errors: also FAILED_PRECONDITION: there is no fleet; INVALID_ARGUMENT for a
  // rollout that is wrong.
  absl::StatusOr<std::vector<FleetView::Profile>> AskFor(
      const ReprofileRequest& request, const RolloutPlan& rollout);

  // Nothing: there is no fleet.
  std::optional<FleetView> View();
  // Asks the registry. Errors: as FleetRegistry::List; FAILED_PRECONDITION.
  absl::StatusOr<FleetSummary> Summarise();
  // nullptr: there is no fleet.
  FleetTables* tables() { return tables_.get(); }

  // Takes another list of trusted keys. An empty one is none: it was not read.
  void Trust(const FleetTrust& trust);

 private:
  // What this node tells the fleet of itself.
  FleetNode State();
  // What weighs a profile; nothing: what this node alone is asked for.
  std::optional<ProfileDemand> DemandFor(const JobRecord& job);
  // Has a table that another node was ahead of compared with that node's.
  void Compare(const TableRecord& own, const FleetHead& winner);
  // What speaks against a table that serves on trial: a device here, or what
  // clients report of it.
  std::string TrialProblem(const ProfileKey& key, const std::string& digest);
  absl::Status Reprofile(const ReprofileRequest& request);

  const Options options_;
  FleetTrust trust_;  // That the parts share.
  FleetSpotChecks spot_checks_;
  std::unique_ptr<FleetTables> tables_;
  std::unique_ptr<FleetProfiles> profiles_;
  std::unique_ptr<FleetDemand> demand_;
  std::unique_ptr<FleetPresence> presence_;
  std::unique_ptr<FleetRollouts> rollouts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_MEMBER_H_
