// Neighbours: problems around the representative ones, on which a portfolio is
// chosen too.
//
// Why: what clients ask for is never exactly what was named. A portfolio chosen
// on 131 representative problems alone lacked what 94 others needed: of
// gemm_bf16 on an H200, 16 members chose at 96.1 % of the best, with neighbours
// at 96.6 to 96.9 %, 32 members at 97.1 and 98.0 % (2026-11).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_NEIGHBOURS_H_
#define WAVETUNE_MODEL_NEIGHBOURS_H_

#include "model/profile_state.h"

namespace wavetune {

// Returns the specialisation with eight neighbours added to the representatives
// of each representative problem. A neighbour's extents are half to double in
// each dimension that varies among the representative problems, as divisible by
// powers of two up to 64 as they were. Neighbours have seven tenths of the
// weight; none of them is ever measured.
//
// Unchanged where nobody named representative problems. Deterministic; cannot
// fail. Cost: a mapping per candidate and neighbour.
SpecialisationState WithNeighbours(const ProfileInput& input,
                                   const SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_NEIGHBOURS_H_
