// Challenges: measure who would win around a representative problem without
// having been looked at there.
//
// Of many candidates the one that is predicted too low wins. At a
// representative problem itself refinement measures the leaders, so luck does
// not last there; around it the winner may be one that nobody measured near.
// One measurement settles it: of a candidate's wave model most is decided by
// the problems where it would be chosen.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_CHALLENGES_H_
#define WAVETUNE_FIT_PLAN_CHALLENGES_H_

#include <cstddef>
#include <vector>

#include "fit/models/latency_matrix.h"
#include "fit/models/profile_state.h"
#include "fit/plan/refinement.h"
#include "fit/profile.h"

namespace wavetune {

// Returns (candidate, representative problem) pairs to measure, at most `most`,
// none twice: of each representative problem that may be measured
// (IsHeldOut), the members that win at one of its neighbours and have not been
// measured at the problem. The largest claims come first: how far ahead of the
// best member that has been measured there, times the neighbour's weight.
// Neighbours themselves are never measured.
//
// Shapes: `wider` is what WithNeighbours made of a specialisation with `count`
// representative problems; latencies are [candidate][representative of wider];
// members are indices of candidates, failed as RefinementItems takes it.
// Pairs are legal and did not fail; of a problem where no member was measured
// there is none, nor without neighbours. Cannot fail. Cost: a look at every
// member and neighbour.
//
// Four replays of a profile of gemm_bf16 on an H200, three with 0.6 % of noise
// (2026-11): choices at unseen and known widths went from 99.09 and 98.89 to
// 99.28 and 98.85 % of the best, 5th percentile 95.1 to 95.4 %, worst 92.0 to
// 93.0 %, for the samples that the budget had left: 31.8 instead of 29.6 a
// candidate. As many samples for more leaders, or for more anchors, gained
// nothing.
std::vector<MeasureItem> ChallengeItems(const SpecialisationState& wider,
                                        size_t count,
                                        const LatencyMatrix& latencies,
                                        const std::vector<size_t>& members,
                                        const FailedProblems& failed,
                                        size_t most);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_CHALLENGES_H_
