// PowerLimitSlowdown: what long launches lose to the power limit.
//
// A processor at its power limit lowers its clock; short launches end before it
// does. The wave forms know one clock. So models are fitted to the time that
// launches would take at the clock of short ones, and answers are given at the
// clock of their own length. The order of candidates does not change: both
// directions are monotonic.
//
//   fitted_to = ShortUs(load, measured_us);
//   answer_us = PowerLimitedUs(load, predicted_us);
//
// Why: a fit without it predicts short launches too slow and long ones too
// fast. Candidates differ in how many of their samples are long, so each would
// be wrong in its own way (docs/decisions/0011).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_POWER_LIMIT_SLOWDOWN_H_
#define WAVETUNE_MODEL_TABLE_POWER_LIMIT_SLOWDOWN_H_

namespace wavetune {

struct PowerLimitSlowdown {
  // Launches up to here run at the clock of short ones, in microseconds; 0
  // where all do.
  double from_us = 0;
  // The rest takes so much longer: 0.2 stands for 1.2 times. In [0, 1].
  double slowdown = 0;

  friend bool operator==(const PowerLimitSlowdown&,
                         const PowerLimitSlowdown&) = default;
};

// Returns what a launch takes that would take `short_us` at the clock of short
// launches. Cannot fail.
inline double PowerLimitedUs(const PowerLimitSlowdown& load, double short_us) {
  const double beyond_us = short_us - load.from_us;
  return beyond_us > 0 ? short_us + load.slowdown * beyond_us : short_us;
}

// The inverse, but for rounding. Cannot fail.
inline double ShortUs(const PowerLimitSlowdown& load, double power_limited_us) {
  return power_limited_us > load.from_us
             ? (power_limited_us + load.slowdown * load.from_us) /
                   (1 + load.slowdown)
             : power_limited_us;
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_POWER_LIMIT_SLOWDOWN_H_
