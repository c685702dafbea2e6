// ClockSettling: makes bursts of one load comparable though the clocks move.
//
// Why: an accelerator at its power limit lowers its clocks, but only after its
// load went on for about a tenth of a second, and keeps them low for a while
// after that. In a batch of all kinds of problems a small product seemed up to
// 30 % slower just after a large one, and large products up to 20 % faster at
// first; even alone, the clock at the limit wanders by some per cent (H200).
// So problems are measured by level (load_level.h), lightest first:
// - a level of which nothing is known yet is tried with the default
//   configuration, until the clock has settled to what such a load gets;
// - of a level that runs into the limit each burst's times are taken to that
//   clock: what works at the limit computes, and takes as many cycles at any
//   clock. Of products in bf16 of 170 us and more log(time) went with -0.93 to
//   -1.06 log(clock), of 35 us with -0.92, and what cycles left to explain was
//   0.1-0.3 % (sd) where times varied by 1.5-6 %;
// - of any other level nothing counts while the clocks are still low. Its times
//   stay as they are: what waits for memory does not go with the clock (-0.1).
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_

#include <cstdint>

#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/power_cap_history.h"

namespace wavetune {

class ClockSettling {
 public:
  // Of the problems of one specialisation in a batch, whose levels come one
  // after the other. Both outlive it.
  ClockSettling(PowerCapHistory& history, PowerCapHistory::Levels& levels)
      : history_(history), levels_(levels) {}

  // What follows is of `level`.
  void Begin(int level);

  // Whether the level is to be tried: what is launched next is the default
  // configuration. Not before a burst said its clock, as there are devices that
  // do not.
  bool trying() const {
    return state_ == State::kUnknown && history_.knows_clocks();
  }

  // Takes a burst of the default configuration; after kTry of device time the
  // level is known.
  void AddTry(const LaunchTimes& times);

  // The level cannot be tried: it is taken for a light one, this time.
  void EndTry() { state_ = State::kLight; }

  // Takes a burst that was not disturbed; returns whether it counts, as all do
  // where the device does not say its clock, and those of broken times, for the
  // measurement to refuse. Those that do not: of a level that is to be tried,
  // one; of capped levels far above their clocks, kHeat together; of a light
  // level at clocks that another one left behind, kCool. A light level that
  // turns out to be capped keeps what counted before.
  bool Counts(const LaunchTimes& times);

  // Returns the times of a burst that counts as they are at the clock of its
  // level, and says that clock; as they are where the level is not capped.
  LaunchTimes AtClockOfLevel(LaunchTimes times) const;

  // Device time, in microseconds. The clock of an H200 fell within 100 ms of a
  // load's begin and rose within 50 ms of its end (2026-11, driver 580).
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
  double clock_mhz_ = 0;   // Of the level; 0 if unknown.
  double tried_us_ = 0;    // Device time.
  double recent_mhz_ = 0;  // Mean clock of the try, of which the past fades.
  double low_us_ = 0;      // Of the last bursts, all at low clocks.
  double heat_left_us_ = kHeat;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_
