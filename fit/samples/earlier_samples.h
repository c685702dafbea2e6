// Samples of earlier profiles: which of them a new fit may rest on.
//
// Why: two profiles of one device differ in which leaders they measured and in
// noise, and so in their choices. A fit that rests on the samples of both
// differs less from the one before, and each profile adds to the known samples
// (docs/decisions/0010).
//
// Latencies can change without the environment key: another cooling, another
// device of the class. So earlier samples count only while they agree with
// today's.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_SAMPLES_EARLIER_SAMPLES_H_
#define WAVETUNE_FIT_SAMPLES_EARLIER_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "model/kernel/sample.h"

namespace wavetune {

// How earlier latencies compare with those of now.
struct EarlierAgreement {
  int64_t pairs = 0;        // (configuration, problem) measured both times.
  double median_ratio = 1;  // Latency now / earlier.
  bool agree = false;
};

// Returns the agreement over the pairs with samples that are neither suspect
// nor absurd on both sides. They agree where enough pairs (30) were measured
// both times, the median ratio is within 2 % of 1 and its quartiles within
// 10 %. Does not depend on the order of the samples. Cannot fail.
EarlierAgreement CompareWithEarlier(const std::vector<Sample>& now,
                                    const std::vector<Sample>& earlier);

// Returns those of `earlier` to fit beside `now`, which outlives the result;
// none where they do not agree. Suspect and absurd ones are left out, and
// pairs whose latency is off by more than 10 % from that of now. Cannot
// fail.
std::vector<const Sample*> UsableEarlierSamples(
    const std::vector<Sample>& now, const std::vector<Sample>& earlier,
    const EarlierAgreement& agreement);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_SAMPLES_EARLIER_SAMPLES_H_
