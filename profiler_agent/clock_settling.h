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

#include "profiler_agent/backend.h"
#include "profiler_agent/power_cap_history.h"

namespace wavetune {

class ClockSettling {
 public:
  // Of the problems of one specialisation in a batch, whose levels come one
  // after the other. Both outlive it.
  ClockSettling(PowerCapHistory& history, PowerCapHistory::Kernel& kernel)
      : history_(history), kernel_(kernel) {}

  // What follows is of `level`.
  void Begin(int level);

  // Takes a burst that was not disturbed; returns whether it counts, as all do
  // where the device does not say its clock, and those of broken times, for the
  // measurement to refuse. Those that do not: of a level that is tried, kTry;
  // of levels that have to be heated, kHeat together; of a light level at
  // clocks that another one left behind, kCool (device times). A level that
  // turns out to be capped in mid-course keeps what counted before.
  bool Counts(const LaunchTimes& times);

  // Device time, in microseconds. The clock of an H200 fell within 100 ms of a
  // load's begin and rose within 50 ms of its end; NVML says so up to 25 ms
  // later, and the host pauses between bursts (2026-11, driver 580).
  static constexpr double kTry = 150e3;
  static constexpr double kHeat = 150e3;
  static constexpr double kCool = 150e3;
  // Capped for so long at the end of a try.
  static constexpr double kSure = 25e3;

 private:
  using Load = PowerCapHistory::Load;

  void LearnCapped(const LaunchTimes& times);

  PowerCapHistory& history_;
  PowerCapHistory::Kernel& kernel_;
  int level_ = 0;
  Load load_ = Load::kLight;
  double of_level_us_ = 0;  // Device time of the level's bursts.
  double capped_us_ = 0;    // Of the last ones, all capped.
  double heat_left_us_ = kHeat;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CLOCK_SETTLING_H_
