// FleetProfiles: one node of a class profiles a kernel, and the others wait for
// what it publishes.
//
//   services.await_turn = [&](JobControl* job, const auto& others_wait) {
//     return profiles.Await(job, others_wait);
//   };
//   services.job_changed = [&](const JobRecord& job) { profiles.OnJob(job); };
//
// A job of this node asks here before it measures. Whoever is the first writes
// a profile and itself as its holder into the registry (fleet_profile.h) and
// measures. Where a holder's session ends, another node of the class, whose
// kernel is the same and whose devices are healthy, profiles in its place. So
// does one where a profile was asked for (Ask) and nobody has begun.
//
// A holder counts where its entry is of a session and its node is in the
// registry, too: what somebody writes there keeps nobody from profiling.
//
// A node that cannot reach the registry for a while profiles by itself. Its
// table is published when it is back, or stays a candidate where another was
// ahead (fleet_step.h).
//
// Thread safety: thread-safe; one thread of its own waits for the network.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_PROFILES_H_
#define WAVETUNE_SERVER_FLEET_FLEET_PROFILES_H_

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
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/signing_key.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/fleet/fleet_profile.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/fleet_view.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_requests.h"
#include "server/jobs/job_services.h"
#include "server/jobs/job_wait.h"
#include "server/jobs/profile_turn.h"

namespace wavetune {

class FleetProfiles {
 public:
  // Nodes on which a profile may fail before nobody tries it any more.
  static constexpr size_t kMostFailures = 3;

  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    KernelCatalog* kernels = nullptr;
    Clock* clock = nullptr;
    std::string fleet;  // Its name.
    std::string node;   // This node's in it.
    FleetTrust trust;
    // nullptr: this node publishes nothing, so that it profiles for the fleet
    // never, and for itself where no other node does.
    std::shared_ptr<const SigningKey> key;
    // AgentDirectory::List.
    std::function<std::vector<AgentDirectory::Known>()> devices;
    // Queues a job here.
    std::function<absl::Status(const ReprofileRequest&)> reprofile;
    // Whether a job here is to profile a kernel on a device.
    std::function<bool(const std::string& kernel, const std::string& uuid)>
        is_profiling;
    // As FleetTables::HeadOf and TableOf.
    std::function<absl::StatusOr<std::string>(const ProfileKey&)> head_of;
    std::function<absl::StatusOr<std::string>(const ProfileKey&)> table_of;
    // Whether a kernel is pinned here, so that nothing is promoted.
    std::function<bool(const ProfileKey&)> pinned;
    // Whether this node serves a table.
    std::function<bool(const ProfileKey&, const std::string& digest)> serves;
    // What many nodes would do at once, each does after a random part of it.
    std::chrono::milliseconds jitter{2000};
    std::chrono::milliseconds look_interval{2000};
    // Between looks whether the node that holds a profile is there; up to twice
    // that. The second time that it is not it is nobody.
    std::chrono::milliseconds holder_interval{60000};
    // How long a job waits for a registry that is out of reach, and for a table
    // that was published to serve here.
    std::chrono::milliseconds patience{15000};
    // Hears of what changes.
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };

  explicit FleetProfiles(Options options);
  ~FleetProfiles();  // Stops.

  void Start();
  // Stops the registry, too. Waiting jobs end when they are asked to.
  void Stop();

  // Waits until a job may measure, or need not; while another node profiles not
  // longer than a moment where others wait for the job's device. Jobs that
  // publish nothing for the fleet may at once. Errors: CANCELLED where it was
  // asked to end.
  absl::StatusOr<ProfileTurn> Await(JobControl* control,
                                    const JobServices::OthersWait& others_wait);

  // A job runs, or has ended: what it held is the next one's.
  void OnJob(const JobRecord& job);

  // Asks the fleet for a profile; `profile` without id. Returns it as it
  // stands, the one that is under way where there is one. Errors: the
  // registry's; ABORTED where others ask for it at this moment.
  absl::StatusOr<FleetProfile> Ask(FleetProfile profile);

  // The same of each kernel and class of devices of this node that a request
  // names. Errors: also NOT_FOUND where there is none; INVALID_ARGUMENT for a
  // rollout that is wrong. Profiles asked for before one that fails stay.
  absl::StatusOr<std::vector<FleetView::Profile>> AskFor(
      const ReprofileRequest& request, const RolloutPlan& rollout);

  // Returns how a table that a job here promotes, or has, goes to the fleet; no
  // stages: to all nodes at once. Errors: UNAVAILABLE while that is not known.
  absl::StatusOr<RolloutPlan> RolloutOf(const ProfileKey& key,
                                        const std::string& digest);

  // Returns the profiles of the classes of this node's devices.
  std::vector<FleetView::Profile> View();

 private:
  using Time = std::chrono::steady_clock::time_point;

  // What the registry has of a class and kernel.
  struct Seen {
    std::optional<FleetProfile> profile;
    int64_t revision = 0;    // The profile's; 0: there is none.
    std::string unreadable;  // Why there is no profile, though an entry.
    std::optional<FleetHolder> holder;
    int64_t holder_revision = 0;  // Its entry's, believed or not; 0: none.
    Time look_at{};               // When its node is looked for.
    bool missed = false;          // It was not there the last time.
    Time take_over_at{};          // This node's turn, where nobody holds it.
  };
  struct Watched {
    std::unique_ptr<FleetRegistry::WatchHandle> watch;
    bool listed = false;
  };
  // What a job here does for the fleet.
  struct Holding {
    FleetProfile profile;
    int64_t revision = 0;
    uint64_t job_id = 0;
    bool lost = false;  // Another node has it.
    std::optional<JobRecord> ended;
    Time publish_until{};
    Time retry_at{};  // After a failure.
  };
  // How it stands for a job that waits.
  struct Standing {
    bool known = false;
    Time silent_since = Time::max();  // The registry; max(): it answers.
    Seen seen;
    bool held_here = false;
  };

  void Run();
  void WatchClasses();
  void OnNews(const std::string& fleet_class, const FleetNews& news);
  // Appends the news to `notes`. Holds mutex_.
  void TakeEntry(const FleetNews::Entry& one, std::vector<std::string>* notes);
  // Lets go of holders whose nodes are not there.
  void LookForHolders();
  Standing StandingOf(const ProfileKey& key);
  // As Await, which keeps `waited_for` over several calls: the profile of
  // another node that the job waits for.
  absl::StatusOr<ProfileTurn> AwaitTurn(
      JobControl* control, const JobServices::OthersWait& others_wait,
      std::string* waited_for);
  // Waits for news, a second at most.
  void AwaitNews();
  // Whether what a job here finds for a key would be published.
  bool Publishes(const ProfileKey& key) const;
  // Writes the job's profile with this node as its holder. Errors: as
  // FleetRegistry::Commit.
  absl::Status Take(const JobRecord& job, const Seen& seen);
  // The same where this node is its holder already.
  void Hold(const JobRecord& job, const FleetProfile& profile,
            int64_t revision);
  // A job of such a request finds that the fleet has a table.
  void EndAsked(const ProfileKey& key, const Seen& seen,
                const std::string& digest);
  // Waits until a table of another node serves here.
  absl::StatusOr<ProfileTurn> AwaitTable(JobControl* control, JobWait& wait,
                                         const std::string& digest,
                                         const std::string& outcome);
  // Goes on with what a job here holds.
  void AdvanceHolding(const std::string& place);
  absl::Status Release(const std::string& place, const Holding& held);
  // Says once why the registry takes nothing of a profile; of silence others
  // tell.
  void SayRefused(const FleetProfile& profile, const absl::Status& status);
  // Queues jobs for what nobody does.
  void TakeOver();
  bool CanTakeOver(const FleetProfile& profile);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  bool awake_ = true;
  uint64_t news_ = 0;  // Grows with news.
  std::string outage_;
  Time outage_since_{};
  std::map<std::string, Seen> seen_;     // By ProfilePlace.
  std::map<std::string, Holding> held_;  // The same.
  std::map<std::string, Watched> classes_;
  std::set<std::string> declined_;         // Profiles that were cancelled here.
  std::map<uint64_t, std::string> waits_;  // Jobs, for which profiles.
  std::mt19937_64 random_{std::random_device{}()};
  std::string refused_;  // As was said last; the thread's own.
  std::unique_ptr<FleetRegistry::WatchHandle> session_;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_PROFILES_H_
