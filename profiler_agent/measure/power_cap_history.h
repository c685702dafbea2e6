// PowerCapHistory: at which clocks a device runs which loads, and which of them
// run into its power limit, as learned while it measures. Kept from batch to
// batch; a worker that is new to a device learns it in a few seconds.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_POWER_CAP_HISTORY_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_POWER_CAP_HISTORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

class PowerCapHistory {
 public:
  // What is known of a level of load_level.h.
  struct Level {
    double clock_mhz = 0;  // That its default configuration settled to.
    bool capped = false;   // It runs into the limit.
  };

  // One kernel's levels.
  using Levels = std::map<int, Level>;

  // Returns what is known of a kernel; stays valid. `fingerprint` as in
  // LoadedKernel.
  Levels& Of(const std::string& fingerprint) { return kernels_[fingerprint]; }

  // Takes a burst's clock, which must be known. Cannot fail.
  void See(const LaunchTimes& times);

  // Whether a burst said its clock.
  bool knows_clocks() const { return highest_clock_mhz_ > 0; }

  // Returns whether a clock is so far below the highest seen that only a limit
  // can hold it there. Cannot fail.
  bool IsLow(double clock_mhz) const;

 private:
  std::map<std::string, Levels> kernels_;
  int32_t highest_clock_mhz_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_POWER_CAP_HISTORY_H_
