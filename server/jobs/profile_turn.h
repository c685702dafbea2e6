// ProfileTurn: whether a job is to profile, where others may do the same for
// everybody (server/fleet/fleet_profiles.h).
#ifndef WAVETUNE_SERVER_JOBS_PROFILE_TURN_H_
#define WAVETUNE_SERVER_JOBS_PROFILE_TURN_H_

#include <string>

namespace wavetune {

struct ProfileTurn {
  // Not empty: another node has done it; this is the job's outcome.
  std::string done_elsewhere;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_PROFILE_TURN_H_
