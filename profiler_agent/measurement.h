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
#ifndef WAVETUNE_PROFILER_AGENT_MEASUREMENT_H_
#define WAVETUNE_PROFILER_AGENT_MEASUREMENT_H_

#include <vector>

#include "absl/status/status.h"
#include "model/configuration.h"
#include "model/problem.h"
#include "model/sample.h"
#include "profiler_agent/backend.h"
#include "profiler_agent/stopping_rule.h"

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
  // What was measured so far; meaningless before the first Add.
  const MeasurementProgress& progress() const { return progress_; }

  // Returns the next burst. Every burst warms up again: others may have run in
  // between, or the clocks gone down. A done measurement may take more bursts;
  // Result() then covers all.
  const Burst& next() const { return next_; }

  // Takes a burst's times. Launches that look disturbed when the target is
  // first met are followed by another burst: a stall that hits all launches of
  // a burst alike looks like precision. Errors: INTERNAL when a time is not
  // positive and finite or there are none; the measurement is unchanged.
  absl::Status Add(const LaunchTimes& times);

  // Returns the sample; only after at least one successful Add. It is suspect
  // when the device throttled, or when the interval stayed several times wider
  // than the target to the end.
  Sample Result() const;

 private:
  Configuration configuration_;
  Problem problem_;
  StoppingRule rule_;
  std::vector<double> launch_us_;
  MeasurementProgress progress_;
  bool throttled_ = false;
  bool repeated_ = false;  // What looked disturbed got another burst.
  bool done_ = false;
  Burst next_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASUREMENT_H_
