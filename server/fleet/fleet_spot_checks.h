// FleetSpotChecks: whether another node's table holds on a device of this one.
//
// Where a device of the table's class is attached, healthy and idle, a job
// verifies the table there (JobRecord::verify_digest): seconds, behind all
// other jobs. A table that does not hold is served all the same, since devices
// of a class rank candidates alike; but it is said, and a rollout counts it
// (NextRolloutStep). One on trial is measured against what the class has, too:
// a table that is faster than the default and slower than what it replaces does
// not hold.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_SPOT_CHECKS_H_
#define WAVETUNE_SERVER_FLEET_FLEET_SPOT_CHECKS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/agents/agent_directory.h"
#include "server/jobs/job_requests.h"
#include "server/store/records.h"

namespace wavetune {

class FleetSpotChecks {
 public:
  // Device time of one, in seconds.
  static constexpr double kBudgetS = 5;

  struct Options {
    // AgentDirectory::List.
    std::function<std::vector<AgentDirectory::Known>()> devices;
    // Queues a job here.
    std::function<absl::Status(const ReprofileRequest&)> reprofile;
    // Hears of a table that does not hold on a device.
    std::function<void(const JobRecord&)> disagrees;
  };

  explicit FleetSpotChecks(Options options) : options_(std::move(options)) {}

  // Another node's table serves here, on trial in the place of `replaced` where
  // that is not empty: it is then measured against that. Cannot fail: where it
  // cannot be checked it is not.
  void OnAdopted(const ProfileKey& key, const std::string& digest,
                 const std::string& replaced);

  // A job has changed.
  void OnJob(const JobRecord& job);

  // Returns why a table did not hold here; empty: it did, or was not checked.
  std::string ProblemOf(const std::string& digest);

 private:
  static constexpr size_t kMostProblems = 1000;

  const Options options_;
  std::mutex mutex_;
  std::map<std::string, std::string> problems_;  // By digest.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_SPOT_CHECKS_H_
