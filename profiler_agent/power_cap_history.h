// PowerCapHistory: which loads run into a device's power limit, and at which
// clock it then holds them, as learned while it measures. Kept from batch to
// batch; a worker that is new to a device learns it in a few seconds.
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
    // Returns what is known of `level`: capped once its clock is; light once it
    // and those above it were tried twice together and were not capped (a batch
    // may hold slow candidates only).
    Load At(int level) const;

    // Returns the clock that a capped level settled to, in MHz.
    std::optional<double> ClockOf(int level) const;

    // Returns whether a level below `level` is capped.
    bool IsAboveCapped(int level) const;

    // Take what was seen of `level`. A clock stays as it was first set: what is
    // measured later is to be compared with what was before.
    void SetCapped(int level, double clock_mhz);
    void AddUncapped(int level) { ++uncapped_[level]; }

   private:
    std::map<int, double> capped_mhz_;  // By level.
    std::map<int, int> uncapped_;       // Tries, by level.
  };

  // Returns what is known of a kernel; stays valid. `fingerprint` as in
  // LoadedKernel.
  Kernel& Of(const std::string& fingerprint) { return kernels_[fingerprint]; }

  // Returns whether a burst ran at clocks noticeably lower than the highest
  // seen so far, and takes its clock for that, which must be known. Cannot
  // fail.
  bool IsLow(const LaunchTimes& times);

  // 0 before the first.
  int32_t highest_clock_mhz() const { return highest_clock_mhz_; }

 private:
  std::map<std::string, Kernel> kernels_;
  int32_t highest_clock_mhz_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_POWER_CAP_HISTORY_H_
