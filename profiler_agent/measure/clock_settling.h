// Load levels: makes bursts of one load comparable though the clocks move.
//
// Why: an accelerator at its power limit lowers its clocks, but only after its
// load went on for about a tenth of a second, and keeps them low for a while
// after that. So problems are measured by level, lightest first:
// - a level of which nothing is known yet is tried with the default
//   configuration, until the clock has settled to what such a load gets;
// - of a level that runs into the limit each burst's times are taken to that
//   clock: what works at the limit computes, and takes as many cycles at any
//   clock;
// - of any other level nothing counts while the clocks are still low. Its times
//   stay as they are: what waits for memory does not go with the clock.
// Evidence: docs/decisions/0012-load-levels.md.
//
// Thread safety: LoadLevel is pure; objects are for one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_CLOCK_SETTLING_H_

#include <cstdint>
#include <map>
#include <string>

#include "profiler_agent/measure/backend.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// LoadLevel: how long and how hard a problem makes a device work, in octaves.
//
// Why: what runs into the power limit is measured apart from what does not
// (ClockSettling), and that has to be guessed before anything ran. Short
// launches do not, as the host pauses between them, and launches that wait for
// memory draw less.

// Returns floor(log2(work * intensity)): the work in main-loop iterations of
// the default configuration, the intensity in these over the bytes of all
// buffers. Levels compare problems of one kernel, nothing else. Extents must be
// >= 1. Cannot fail. The clock of the default
// configuration goes with it (docs/decisions/0012-load-levels.md).
// Source: operational intensity (Williams, Waterman, Patterson, "Roofline: an
//         insightful visual performance model", CACM 52(4), 2009). Deviation:
//         iterations instead of operations, as no kernel says what one costs.
int LoadLevel(const KernelSpec& spec, const Problem& problem);

// PowerCapHistory: at which clocks a device runs which loads, and which of them
// run into its power limit, as learned while it measures. Kept from batch to
// batch; a worker that is new to a device learns it in a few seconds.
class PowerCapHistory {
 public:
  // What is known of a LoadLevel.
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

// Makes the bursts of a batch comparable, as said above.
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
