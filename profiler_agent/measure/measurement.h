// Measurement: one (candidate, problem) on its way to a sample.
//
//   Measurement measurement(item, rule);
//   while (!measurement.done()) {
//     absl::StatusOr<LaunchTimes> times =
//         device.Measure(item.configuration, item.problem,
//                        measurement.next().warmup,
//                        measurement.next().launches);
//     absl::Status status = measurement.Add(*times);
//   }
//   Sample sample = measurement.Result();
//
// Why a state machine and not a loop over a device: a batch that interleaves
// its items keeps many measurements open and takes a burst of each in turn.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_MEASUREMENT_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_MEASUREMENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "model/kernel/sample.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/measure/stopping_rule.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

class Measurement {
 public:
  // Launches to do next.
  struct Burst {
    int warmup = 1;
    int launches = 1;
  };

  Measurement(Configuration configuration, Problem problem,
              const StoppingRule& rule);

  const Configuration& configuration() const { return configuration_; }
  const Problem& problem() const { return problem_; }

  bool done() const { return done_; }
  // Returns the bursts so far; meaningless before the first Add.
  const MeasurementProgress& progress() const { return progress_; }

  // Returns the next burst. Every burst warms up again: others may have run in
  // between, or the clocks gone down. A done measurement may take more bursts;
  // Result() then covers all.
  const Burst& next() const { return next_; }

  // Takes a burst's times. Launches that look disturbed when the target is
  // first met are followed by another burst: a stall that hits all launches of
  // a burst alike looks like precision. A burst of a throttled device or a
  // stalled host is put aside and measured again; with the fourth the
  // measurement gives up. Errors: INTERNAL when a time is not positive and
  // finite or there are none; the measurement is unchanged.
  absl::Status Add(const LaunchTimes& times);

  // Takes a burst that does not count, but for the device time that it took
  // (microseconds; nothing where that is not finite). Cannot fail.
  void Discard(const LaunchTimes& times);

  // Returns whether it is done because bursts were disturbed again and again,
  // so that further turns would not help.
  bool given_up() const { return given_up_; }

  // Returns the sample. Requires a successful Add. Bursts that were put aside
  // count only where there are too few others; the sample is suspect then. It
  // is also suspect when the interval stayed several times wider than the
  // target.
  Sample Result() const;

 private:
  // Launches with what the device said meanwhile.
  struct Launches {
    LaunchTimes times;          // All bursts', as one's.
    double device_time_us = 0;  // By burst: these may time unequally many.

    void Add(const LaunchTimes& burst, double burst_device_time_us);
  };

  void PutAside(const LaunchTimes& times);
  void Assess(const Launches& launches);

  Configuration configuration_;
  Problem problem_;
  StoppingRule rule_;
  Launches sound_;
  Launches aside_;
  int bursts_aside_ = 0;
  double discarded_us_ = 0;
  MeasurementProgress progress_;
  bool repeated_ = false;  // What looked disturbed got another burst.
  bool given_up_ = false;
  bool rests_on_aside_ = false;
  bool done_ = false;
  Burst next_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_MEASUREMENT_H_
