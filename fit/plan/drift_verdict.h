// The verdict of a canary: what changed between two environments.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_DRIFT_VERDICT_H_
#define WAVETUNE_FIT_PLAN_DRIFT_VERDICT_H_

#include <cstddef>
#include <vector>

#include "fit/plan/canary.h"
#include "fit/plan/drift_report.h"
#include "model/kernel/sample.h"

namespace wavetune {

// Fewer pairs say nothing.
inline constexpr size_t kFewestCompared = 8;

// Returns what changed, and what to do about it. `measured` answers `pairs` in
// order; missing measurements (latency <= 0) and throttled ones leave their
// pairs out; one that was never stable counts as having a spread of 10 %. Sets
// neither environments nor digest nor time. Cannot fail.
//
// A regime of problems drifted where the median of its ratios now / then is off
// by more than 3 % (or half the table's bound, at most 10 %) and twice the
// spread of its samples, where a quarter of its pairs scatter about that median
// by more than 10 % and three times their spread, or where two candidates
// changed places by more than noise: 3 %, twice their spread, and three
// standard deviations of all pairs (by the median distance to the median of
// all, at most 50 %).
//
// A configuration, which has few pairs, drifted where more than half of them
// are off to one side by more than 10 %, those standard deviations, and twice
// the spread of its samples. One of a single pair is not judged: it may be
// noise.
//
// Which of the two kinds what is off belongs to is for the pairs to say: those
// of the kind that is asked first count there, and the other kind is judged by
// the rest; the order that leaves fewer pairs drifted counts.
//
// Off from what: from 1, or from the median of all where that leaves fewer
// drifted or none did, so that a clock that fell for all is one factor.
//
// kCarryOver: nothing drifted and all are within 2 % of before. kRefit: less
// than half of the pairs are of drifted regimes. Else kProfile, and where there
// were fewer than kFewestCompared pairs to measure. kUndecided: there were
// enough, and too few of them were measured.
DriftReport JudgeCanary(const std::vector<CanaryPair>& pairs,
                        const std::vector<Sample>& measured);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_DRIFT_VERDICT_H_
