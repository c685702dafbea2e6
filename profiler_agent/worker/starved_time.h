// StarvedTime: for how long a process had something to do and got no core.
//
// Why: workers that compile are nice to others (worker_process.h), so on a busy
// host a sound candidate takes long. Time in which it waited for a core must
// not make it one that hangs; time in which it waited for anything else, or
// ran, does.
//
//   StarvedTime starved(pid, kMostStarvedTimeouts * timeout);
//   ...
//   deadline += starved.Take();
//
// Linux counts it for each thread (/proc/PID/task/TID/schedstat); where that is
// not there nobody was ever starved.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_STARVED_TIME_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_STARVED_TIME_H_

#include <sys/types.h>

#include <map>

#include "base/clock.h"

namespace wavetune {

// How many timeouts of a call a process may be starved for. A niced one has
// about a tenth of a core that somebody else uses, and so still half of the
// timeout for itself, as one that shares it.
inline constexpr int kMostStarvedTimeouts = 4;

class StarvedTime {
 public:
  // Time of the process, and of those that it starts itself, from now on;
  // `most` in all.
  StarvedTime(pid_t pid, Clock::Duration most);

  // Returns how long its most starved thread was since the last call, or since
  // the beginning. Cannot fail: 0 for a process that is gone.
  Clock::Duration Take();

 private:
  const pid_t pid_;
  Clock::Duration left_;
  std::map<pid_t, Clock::Duration> before_;  // By thread.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_STARVED_TIME_H_
