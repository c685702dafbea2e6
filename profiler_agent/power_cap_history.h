// PowerCapHistory: which loads run into a device's power limit, as learned
// while it measures. Kept from batch to batch; a worker that is new to a device
// learns it in a few seconds.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_POWER_CAP_HISTORY_H_
#define WAVETUNE_PROFILER_AGENT_POWER_CAP_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "profiler_agent/backend.h"

namespace wavetune {

class PowerCapHistory {
 public:
  // Whether a level of load_level.h runs into the limit.
  enum class Load : uint8_t { kUnknown, kLight, kCapped };

  // One kernel's levels.
  class Kernel {
   public:
    // Returns what is known of `level`: capped as soon as it, or one below it,
    // was seen at the limit; light once it and those above it were tried twice
    // together and were not (a batch may hold slow candidates only).
    Load At(int level) const;

    // Take what was seen of `level`. What was seen at the limit stays so.
    void SetCapped(int level);
    void AddUncapped(int level) { ++uncapped_[level]; }

   private:
    std::optional<int> lowest_capped_;
    std::map<int, int> uncapped_;  // Tries, by level.
  };

  // Returns what is known of a kernel; stays valid. `fingerprint` as in
  // LoadedKernel.
  Kernel& Of(const std::string& fingerprint) { return kernels_[fingerprint]; }

  // Returns whether the power limit held the clocks down during a burst,
  // noticeably, compared with the highest clock seen so far. Cannot fail.
  bool IsCapped(const LaunchTimes& times);

 private:
  std::map<std::string, Kernel> kernels_;
  int32_t highest_clock_mhz_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_POWER_CAP_HISTORY_H_
