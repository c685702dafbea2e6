// Load levels: makes bursts of one load comparable though the clocks move.
//
// Why: an accelerator at its power limit lowers its clocks, but only after its
// load went on for about a tenth of a second. Then it keeps them low for a
// while. In a mixed batch a small problem seems too slow just after a large
// one, and large ones seem too fast at first (docs/decisions/0012). So
// problems are measured by level (LoadLevel, model/kernel/load_level.h),
// lightest first:
// - An unknown level is tried with the default configuration until the clock
//   has settled to what such a load gets.
// - Bursts of a capped level, which runs into the power limit, are converted to
//   that clock. Such a load computes, and takes as many cycles at any clock.
// - Bursts of a light level do not count while the clocks are still low. Their
//   times stay as they are: what waits for memory does not depend on the clock.
//
// Thread safety: objects are for one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_

#include <cstdint>
#include <map>
#include <string>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

// PowerCapHistory: the clocks at which a device runs its loads, and which loads
// run into its power limit. It is learned while the device measures and kept
// from batch to batch; a new worker learns it in a few seconds.
class PowerCapHistory {
 public:
  // One LoadLevel's clock.
  struct Level {
    double clock_mhz = 0;  // The default configuration settled to it.
    bool capped = false;   // It runs into the limit.
  };

  // One kernel's levels.
  using Levels = std::map<int, Level>;

  // Returns a kernel's levels; stays valid. `fingerprint` as in
  // LoadedKernel.
  Levels& Of(const std::string& fingerprint) { return kernels_[fingerprint]; }

  // Takes a burst's clock, which must be known. Cannot fail.
  void See(const LaunchTimes& times);

  // Returns whether any burst reported its clock.
  bool knows_clocks() const { return highest_clock_mhz_ > 0; }

  // Returns whether a clock is so far below the highest seen that only a limit
  // can hold it there. Cannot fail.
  bool IsLow(double clock_mhz) const;

 private:
  std::map<std::string, Levels> kernels_;
  int32_t highest_clock_mhz_ = 0;
};

// Makes the bursts of a batch comparable, as said above.
class ClockSettling {
 public:
  // For the problems of one specialisation in a batch, whose levels come one
  // after the other. Both arguments outlive the object.
  ClockSettling(PowerCapHistory& history, PowerCapHistory::Levels& levels)
      : history_(history), levels_(levels) {}

  // The bursts that follow are of `level`.
  void Begin(int level);

  // Returns whether the level is to be tried: the next launches are those of
  // the default configuration. False before a burst reported a clock, as some
  // devices report none.
  bool trying() const {
    return state_ == State::kUnknown && history_.knows_clocks();
  }

  // Takes a burst of the default configuration; after kTry of device time the
  // level is known.
  void AddTry(const LaunchTimes& times);

  // The level cannot be tried: it is taken for a light one, this time.
  void EndTry() { state_ = State::kLight; }

  // Takes a burst that was not disturbed; returns whether it may be used.
  // Rejected are:
  // - the first burst of a level that is to be tried;
  // - bursts of a capped level whose clock is still well above the settled one,
  //   for kHeat of device time;
  // - bursts of a light level while the clock is still recovering, for kCool.
  // Devices that report no clock never reject. Bursts with broken times are not
  // rejected here: the measurement refuses them. A light level that turns out
  // to be capped keeps what counted before.
  bool Counts(const LaunchTimes& times);

  // Returns the times of a burst that counts, converted to the clock of its
  // level and with that clock; unchanged where the level is not capped.
  LaunchTimes AtClockOfLevel(LaunchTimes times) const;

  // Device time, in microseconds: longer than clocks take to fall after a load
  // began, or to rise after it ended (docs/decisions/0012).
  static constexpr double kTry = 200e3;
  static constexpr double kHeat = 150e3;
  static constexpr double kCool = 150e3;

 private:
  enum class State : uint8_t { kUnknown, kLight, kCapped };

  void Learn(double clock_mhz, bool capped);

  PowerCapHistory& history_;
  PowerCapHistory::Levels& levels_;
  int level_ = 0;
  State state_ = State::kLight;
  double clock_mhz_ = 0;   // The level's; 0 if unknown.
  double tried_us_ = 0;    // Device time.
  double recent_mhz_ = 0;  // Mean clock of the try, of which the past fades.
  double low_us_ = 0;      // The last bursts', all at low clocks.
  double heat_left_us_ = kHeat;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_
