// Layer choices: who serves a layer that was measured.
//
//   sub.layers =
//       ChooseForLayers(spec, specialisation, sub, near_tie, kMaxLayers);
//
// A layer: problems that differ in the rows' extent alone. Where candidates
// were measured at a layer's representative problems they compete at its other
// problems corrected by what they took there (fit/models/layer_evidence.h).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_BUILD_LAYER_CHOICES_H_
#define WAVETUNE_FIT_BUILD_LAYER_CHOICES_H_

#include <cstddef>
#include <vector>

#include "fit/models/profile_state.h"
#include "model/table/table.h"

namespace wavetune {

struct KernelSpec;

// Returns the contents of SubTable::layers, for the `most` layers with the
// largest weight of representative problems. A layer says who is fastest from
// the fewest to the most rows at which any member was measured there. A group
// stays from one span to the next where it is within `near_tie` of the best.
//
// Shapes: `sub` is what BuildSubTable made of candidates of the specialisation;
// its layers are not read. Empty for a sum (what one measurement of gemm_f32 on
// two CPU cores says is mostly noise; not tried elsewhere), for a mapping
// without rows, or with a repeated dimension. Deterministic, binary64 + - * /
// only; cannot fail. Cost: for each layer a prediction per group, and a sum
// over its measurements, at the rows' extents where a tile more begins. These
// are at most 64 for each doubling.
std::vector<LayerChoices> ChooseForLayers(
    const KernelSpec& spec, const SpecialisationState& specialisation,
    const SubTable& sub, double near_tie, size_t most);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_LAYER_CHOICES_H_
