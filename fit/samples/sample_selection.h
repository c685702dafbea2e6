// Sample selection: from raw samples, in any order and of any quality, to one
// observation per (candidate, problem).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_SAMPLES_SAMPLE_SELECTION_H_
#define WAVETUNE_FIT_SAMPLES_SAMPLE_SELECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fit/samples/observation.h"
#include "model/kernel/mapping.h"
#include "model/kernel/sample.h"

namespace wavetune {

// Latencies outside of this are no launch: below a nanosecond, above 1,000 s.
inline constexpr double kShortestLatencyUs = 1e-3;
inline constexpr double kLongestLatencyUs = 1e9;

// Returns whether a latency can be a launch's. Cannot fail.
bool IsPlausibleLatency(double latency_us);

// Returns whether a sample can be compared with another: a plausible latency,
// of a device that was not throttled. Cannot fail.
bool IsSound(const Sample& sample);

// What a selection did, for FitReport::notes.
struct SelectionCounts {
  int64_t used = 0;
  int64_t absurd = 0;         // Not finite, not positive, out of range.
  int64_t contradictory = 0;  // Several times off its neighbours.
  int64_t merged = 0;         // Repeats of a (candidate, problem).
  int64_t suspect = 0;        // Used, but with a low weight.
  int64_t throttled = 0;      // The suspect ones from a throttled device.
};

// Returns the sample of median latency; of an even number the upper one, since
// the lower is the luckier. `samples` is not empty.
Sample MedianSample(std::vector<Sample> samples);

// Returns the observations of one candidate in the order of their problems.
//
// A problem's latency is the median of its samples that are not suspect; of the
// suspect ones, with weight 0.1, where there are no others. Absurd latencies
// are dropped. So is a sample that contradicts others: it took less than a
// quarter of the time of a launch with no more tiles, iterations and filled
// rows. It is dropped where it is in more such contradictions than its
// counterpart; where both are in as many, both get weight 0.1. (Small latencies
// have a large say in relative error: one wrong by 1,000 times would rule the
// fit.)
//
// Shapes: `samples` all of one configuration and specialisation, legal
// problems. Cannot fail. Cost: O(n^2) in the candidate's samples.
std::vector<Observation> SelectObservations(
    const Mapping& mapping, absl::Span<const Sample* const> samples,
    SelectionCounts& counts);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_SAMPLES_SAMPLE_SELECTION_H_
