// ClockSettling: which bursts ran at the clocks that their own load gets.
//
// Why: an accelerator at its power limit lowers its clocks, but only after its
// load went on for about a tenth of a second, and keeps them low for a while
// after that. In a batch of all kinds of problems a small product seemed up to
// 30 % slower just after a large one, and large products up to 20 % faster at
// first (H200: of the same pair in three profiles, the 90th percentile of the
// differences was 11-13 % at 500-700 TFLOP/s). So problems are measured by
// level (load_level.h), lightest first, and
// - of a level that runs into the limit nothing counts until it did;
// - of one that does not nothing counts while the clocks are still low;
// - one of which nothing is known yet is tried first.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CLOCK_SETTLING_H_
#define WAVETUNE_PROFILER_AGENT_CLOCK_SETTLING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "profiler_agent/backend.h"

namespace wavetune {

// What is known of one device; kept from batch to batch.
class PowerCapHistory {
 public:
  // Of one kernel.
  struct Kernel {
    // Problems from this level on run into the power limit; none known yet.
    std::optional<int> lowest_capped;
    // How often a level was tried and did not, by level.
    std::map<int, int> uncapped;
  };

  // Returns what is known of a kernel; stays valid. `fingerprint` as in
  // LoadedKernel.
  Kernel& Of(const std::string& fingerprint) { return kernels_[fingerprint]; }

  // Whether the power limit held the clocks down during a burst, noticeably:
  // the driver names it for dips of 1 %, too.
  bool IsCapped(const LaunchTimes& times);

 private:
  std::map<std::string, Kernel> kernels_;
  int32_t highest_clock_mhz_ = 0;
};

// One batch: levels one after the other.
class ClockSettling {
 public:
  // Both outlive it.
  ClockSettling(PowerCapHistory& history, PowerCapHistory::Kernel& kernel)
      : history_(history), kernel_(kernel) {}

  // What follows is of `level`.
  void Begin(int level);

  // Takes a burst; returns whether it counts, as all do where the device does
  // not say its clock. Those that do not: of a level that is tried, kTry; of a
  // batch that has to be heated, kHeat; of a light level at clocks that another
  // one left behind, kCool (device times).
  bool Counts(const LaunchTimes& times);

  // Device time, in microseconds.
  static constexpr double kTry = 100e3;
  static constexpr double kHeat = 100e3;
  static constexpr double kCool = 150e3;

 private:
  enum class Kind { kLight, kUnknown, kCapped };

  void LearnCapped(const LaunchTimes& times);

  PowerCapHistory& history_;
  PowerCapHistory::Kernel& kernel_;
  int level_ = 0;
  Kind kind_ = Kind::kLight;
  double of_level_us_ = 0;  // Device time of the level's bursts.
  double capped_us_ = 0;    // Of the last ones, all capped.
  double heat_left_us_ = kHeat;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CLOCK_SETTLING_H_
