// StoppingRule: when a measurement is good enough. Pure arithmetic.
//
// Why a rule and not a fixed number of launches: five launches are enough for a
// short launch on a quiet GPU, and a busy CPU needs more. A one-second launch
// cannot be afforded twenty times (docs/decisions/0025).
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_STOPPING_RULE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_STOPPING_RULE_H_

#include "profiler_agent/measure/latency_estimate.h"

namespace wavetune {

// Defaults: with five launches the quartile's interval spans the fastest four,
// so one disturbed launch costs nothing; the rest keeps a sample at about 0.03
// s of device time. Longer samples buy little: the fit averages over samples.
struct StoppingRule {
  int min_launches = 5;
  int max_launches = 40;  // MostLaunches: more of short ones.
  double target_relative_error = 0.02;
  double max_device_time_us = 30e3;

  // Returns the rule with every value <= 0 replaced by the default, and
  // max_launches >= min_launches. Cannot fail.
  StoppingRule WithDefaults() const;
};

// The launches so far.
struct MeasurementProgress {
  int launches = 0;  // Timings.
  int launches_per_timing = 1;
  double device_time_us = 0;  // Warm-up included.
  LatencyEstimate estimate;   // Meaningless before the first launch.
};

// Returns how many times as many launches short ones take, in [1, 8]: 1 before
// the first timing and where a timing takes 100 us and more. Launches of
// microseconds scatter most, and more of them cost next to nothing
// (docs/decisions/0025). Cannot fail.
double ShortLaunchFactor(const MeasurementProgress& progress);

// Returns how many launches a sample takes at most: max_launches times the
// factor above. Cannot fail.
int MostLaunches(const StoppingRule& rule, const MeasurementProgress& progress);

enum class StopReason {
  kGoOn,          // Not enough yet.
  kTargetMet,     // The interval is narrow enough.
  kMaxLaunches,   // MostLaunches.
  kMaxDeviceTime  // Used as much device time as allowed.
};

// Decides after a burst. A narrow interval wins over the limits. Before
// min_launches a measurement stops only where two launches took twice the
// device time of a sample: the slowest candidates must not cost most of a
// profile. `rule` has its defaults filled in. Cannot fail.
StopReason Judge(const StoppingRule& rule, const MeasurementProgress& progress);

// Returns how many launches the next burst takes, >= 1 and within both limits.
// That is min_launches first, then as many as there were so far (the interval
// shrinks with the square root, so smaller steps rarely change the verdict).
int NextBurstLaunches(const StoppingRule& rule,
                      const MeasurementProgress& progress);

// Returns whether the launches look disturbed, so that a narrow interval is not
// trusted before a later burst agrees. Then the quartiles lie far apart, or a
// launch took much longer than the median.
bool LooksDisturbed(const LatencyEstimate& estimate);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_STOPPING_RULE_H_
