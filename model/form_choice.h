// Which wave form a specialisation's models have (WaveForm, model/table.h).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_FORM_CHOICE_H_
#define WAVETUNE_MODEL_FORM_CHOICE_H_

#include <cstdint>

#include "model/profile_state.h"
#include "model/table.h"

namespace wavetune {

// Returns the form that predicts representative problems better which a model
// was not fitted to: kOverlap where its mean error is at least 5 % lower over
// 40 or more of them, else kSum. Anchors have no say: both forms pass through
// these, which lie where the forms differ least.
//
// Kernels differ: with loads and arithmetic in warps of their own (gemm_bf16 on
// an H200) they overlap, and kOverlap's choice among random sets of 24
// candidates is 98.8 instead of 98.0 % of the best; where one warp does both
// (Triton's GEMM and attention there) they add up: 97.7 instead of 98.5 and
// 95.2 instead of 98.8 % (2026-11).
//
// Cannot fail. Cost: two fits of each form for each candidate that was measured
// at representative problems.
WaveForm ChooseForm(const SpecialisationState& specialisation,
                    int64_t multiprocessors);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_FORM_CHOICE_H_
