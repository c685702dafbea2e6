// Held out: representative problems that no fit sees, so that a new table can
// be verified on them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_HELD_OUT_H_
#define WAVETUNE_FIT_MODELS_HELD_OUT_H_

#include <cstddef>

namespace wavetune {

// Returns whether representative problem number `index` of `count` is never
// measured by refinement, so that verification has problems that no fit has
// seen: twelve, evenly spread, of 24 or more; a quarter of 8 or more; else
// none.
bool IsHeldOut(size_t index, size_t count);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_HELD_OUT_H_
