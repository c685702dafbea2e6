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
// (fit/models/neighbours.h). Eight samples mislead: a smaller ratio drops
// candidates that are the best somewhere (docs/decisions/0004).
inline constexpr double kHopelessRatio = 2;

// Returns the indices, ascending, of the candidates to go on with, judged at
// the representatives of `specialisation`, neighbours included. They are at
// most `most`, the closest to the best first. Always one is legal for every
// problem where one has samples. Looks only at samples of `screening[i]`, the
// screening problems of candidate i, so that later samples do not change the
// answer. Cannot fail.
std::vector<size_t> Survivors(
    const SpecialisationState& specialisation,
    const std::vector<std::vector<Problem>>& screening, int64_t multiprocessors,
    size_t most);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_SCREENING_H_
