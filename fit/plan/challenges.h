// Challenges: measure who would win around a representative problem without
// having been looked at there.
//
// Why: among many candidates one that is predicted too low wins. At a
// representative problem refining measures the leaders, so a low prediction
// does not last there. Around it the winner may be a candidate that nobody
// measured nearby. One measurement at the representative problem settles it
// (docs/decisions/0009).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_CHALLENGES_H_
#define WAVETUNE_FIT_PLAN_CHALLENGES_H_

#include <cstddef>
#include <vector>

#include "fit/models/latency_matrix.h"
#include "fit/models/profile_state.h"
#include "fit/plan/refinement.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// Returns (candidate, representative problem) pairs to measure, at most `most`,
// none twice. A pair is a representative problem that may be measured
// (IsHeldOut) and a member that wins at one of its neighbours but has not been
// measured at the problem. The largest claims come first: how far the member is
// ahead of the best member that has been measured there, times the neighbour's
// weight. Neighbours themselves are never measured.
//
// Shapes: `wider` is what WithNeighbours made of a specialisation with `count`
// representative problems; latencies are [candidate][representative of wider];
// members are indices of candidates, failed as RefinementItems takes it. Pairs
// are legal and did not fail. A problem where no member was measured has none,
// nor has one without neighbours. Cannot fail.
// Cost: O(members * neighbours).
std::vector<MeasureItem> ChallengeItems(const SpecialisationState& wider,
                                        size_t count,
                                        const LatencyMatrix& latencies,
                                        const std::vector<size_t>& members,
                                        const FailedProblems& failed,
                                        size_t most);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_CHALLENGES_H_
