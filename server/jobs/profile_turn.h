// ProfileTurn: whether a job is to profile, where others may do the same for
// everybody (server/fleet/fleet_profiles.h).
#ifndef WAVETUNE_SERVER_JOBS_PROFILE_TURN_H_
#define WAVETUNE_SERVER_JOBS_PROFILE_TURN_H_

#include <optional>
#include <string>
#include <vector>

#include "model/kernel/weighted_problem.h"
#include "server/store/records.h"

namespace wavetune {

// What the nodes of a fleet are asked for, for a kernel on one silicon.
struct ProfileDemand {
  std::vector<WeightedProblem> used;       // As JobRecord::used_problems.
  std::vector<WeightedProblem> workloads;  // As JobRecord::workload_problems.
  FleetDemandCounts counts;
};

struct ProfileTurn {
  // Not empty: another node has done it; this is the job's outcome.
  std::string done_elsewhere;
  // Then: the table of it, where that serves here.
  std::string digest = {};
  // Not empty: it waits for another node, says this, and is asked again later:
  // other jobs of its device go first.
  std::string later = {};
  // What the job finds is for the whole fleet.
  bool for_fleet = false;
  // Set: takes the place of what this node alone was asked for.
  std::optional<ProfileDemand> demand = std::nullopt;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_PROFILE_TURN_H_
