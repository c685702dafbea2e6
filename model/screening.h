// Screening: which candidates are worth all their anchors.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_SCREENING_H_
#define WAVETUNE_MODEL_SCREENING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/kernel_spec.h"
#include "model/profile_state.h"

namespace wavetune {

// A candidate is hopeless if its crude model is this much slower than the best
// candidate's at every representative problem and neighbour of one
// (model/neighbours.h; without them more of gemm_bf16's tiles for narrow
// matrices were dropped, and a replayed profile chose at 97.7 instead of 97.9 %
// of the best, 48 candidates, 2026-11). On the H200 Triton GEMM trace
// (2026-11) 1.2 and 1.3 kept 84 and 97 of 176 candidates, among them the best
// for every problem.
inline constexpr double kHopelessRatio = 1.3;

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

#endif  // WAVETUNE_MODEL_SCREENING_H_
