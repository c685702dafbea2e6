// Neighbours: problems around the representative ones, on which a portfolio is
// chosen too.
//
// Why: clients never ask for exactly the named problems. With neighbours the
// worst choices are better, and two profiles choose alike more often
// (docs/decisions/0003).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_NEIGHBOURS_H_
#define WAVETUNE_FIT_MODELS_NEIGHBOURS_H_

#include "fit/models/profile_state.h"

namespace wavetune {

// Returns the specialisation with eight neighbours added to the representatives
// of each representative problem. A neighbour's extents are half to double in
// each dimension that varies among the representative problems, as divisible by
// powers of two up to 64 as they were. Neighbours have half of the weight;
// none of them is ever measured.
//
// Unchanged where nobody named representative problems. Deterministic; cannot
// fail. Cost: a mapping per candidate and neighbour.
SpecialisationState WithNeighbours(const ProfileInput& input,
                                   const SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_NEIGHBOURS_H_
