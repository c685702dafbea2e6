// ClockSettling: makes bursts of one load comparable though the clocks move.
//
// Why: an accelerator at its power limit lowers its clocks, but only after its
// load went on for about a tenth of a second, and keeps them low for a while
// after that. In a batch of all kinds of problems a small product seemed up to
// 30 % slower just after a large one, and large products up to 20 % faster at
// first; even alone, the clock at the limit wanders by some per cent (H200).
// So problems are measured by level (load_level.h), lightest first, and
// - of a level that runs into the limit each burst's times are taken to the
//   clock that the level settled to when it was first tried: what works at the
//   limit computes, and takes as many cycles at any clock. Of products in bf16
//   of 170 us and more log(time) went with -0.93 to -1.06 log(clock), of 35 us
//   with -0.92, and what cycles left to explain was 0.1-0.3 % (sd) where times
//   varied by 1.5-6 %;
// - of one that does not, nothing counts while the clocks are still low;
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
  // of capped levels far from their clocks, kHeat together; of a light level at
  // clocks that another one left behind, kCool (device times). A level that
  // turns out to be capped only later keeps what counted before, and what
  // follows is taken to the full clock, as that was of.
  bool Counts(const LaunchTimes& times);

  // Returns the times of a burst that counts as they are at the clock of its
  // level, and says that clock; as it is where the level is not capped.
  LaunchTimes AtClockOfLevel(LaunchTimes times) const;

  // Device time, in microseconds. The clock of an H200 fell within 100 ms of a
  // load's begin and rose within 50 ms of its end (2026-11, driver 580).
  static constexpr double kTry = 150e3;
  static constexpr double kHeat = 150e3;
  static constexpr double kCool = 150e3;
  // Low for so long at the end of a try.
  static constexpr double kSure = 25e3;

 private:
  using Load = PowerCapHistory::Load;

  void LearnCapped(double clock_mhz);

  PowerCapHistory& history_;
  PowerCapHistory::Kernel& kernel_;
  int level_ = 0;
  Load load_ = Load::kLight;
  double of_level_us_ = 0;  // Device time of the level's bursts.
  double low_us_ = 0;       // Of the last ones, all at low clocks.
  double recent_mhz_ = 0;   // Mean clock, of which the past fades away.
  double heat_left_us_ = kHeat;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CLOCK_SETTLING_H_
