// Screening: which candidates are worth all their anchors.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_SCREENING_H_
#define WAVETUNE_FIT_PLAN_SCREENING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/profile_state.h"
#include "wavetune/problem.h"

namespace wavetune {

// A candidate is hopeless if its crude model is this much slower than the best
// candidate's at every representative problem and neighbour of one
// (fit/models/neighbours.h; without them more of gemm_bf16's tiles for
// narrow matrices were dropped, and a replayed profile chose at 97.7 instead
// of 97.9 % of the best, 48 candidates, 2026-11). Eight samples mislead: 1.3
// dropped 43 of gemm_bf16's 233 candidates on an H200, among them the best for
// 4 of 164 problems (splits of a long k), at which choices fell to 78-92 % of
// the best; 1.6 dropped 17, 2 drops 6, each without one that was best
// (2026-11).
inline constexpr double kHopelessRatio = 2;

// Returns the indices, ascending, of the candidates to go on with, judged at
// the representatives of `specialisation`, neighbours included: at most
// `most`, the closest to the best first; always one that is legal for every
// problem where one has samples. Looks only at samples of `screening[i]`, the
// screening problems of candidate i, so that later samples do not change the
// answer. Cannot fail.
std::vector<size_t> Survivors(
    const SpecialisationState& specialisation,
    const std::vector<std::vector<Problem>>& screening, int64_t multiprocessors,
    size_t most);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_SCREENING_H_
