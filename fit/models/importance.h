// Importance: how much a measurement says about what to choose.
//
//   SetImportance(input, specialisation);   // before FitCandidates
//
// A table is asked for the fastest candidate, so predictions count where a
// candidate is fastest or nearly so. No form fits everywhere, and a fit that
// minds every measurement alike spends its coefficients where the candidate is
// three times too slow to matter.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_IMPORTANCE_H_
#define WAVETUNE_FIT_MODELS_IMPORTANCE_H_

#include "fit/models/profile_state.h"
#include "fit/profile.h"

namespace wavetune {

// Of gemm_bf16's profile on an H200 (2026-11), six times with 0.6 % of noise
// and without a random 8 % of the samples, choices among 96 candidates at
// unseen and at known widths were 98.55 and 98.53 % of the best without
// importance, with a standard deviation of 0.55 %; 98.88 and 98.74 % (0.14 %)
// with these. 0.8 for the first, or 0.4 for the second, were as good.
inline constexpr double kHalfImportant = 0.4;
inline constexpr double kLeastImportance = 0.2;

// Returns the importance of a measurement at which a candidate took `behind`
// times the best latency more than the best did: 1 at the best, 1/2 at
// kHalfImportant, at least kLeastImportance. Cannot fail.
double ImportanceOf(double behind);

// Sets the importance of every observation of a specialisation whose form is
// kOverlap. (As a sum each segment has few observations of its own: choices on
// the H200 Triton GEMM trace fell from 98.8 to 98.5 %, 2026-11.) The best at a
// problem is the least of what was measured there and of what a first fit, to
// all observations alike (or the serving table's model where that is
// preferred), predicts of the candidates that are legal. An observation that a
// second fit, with these, predicts nearer to the best than it was counts as
// near: who is measured slow must not be taken for fast (choices among 32
// candidates: 97.7 without, 98.0 % with it). Shapes: observations must have
// been added, with a importance of 1; any number of candidates. Cannot fail.
// Cost: two fits, and a prediction per candidate and distinct problem.
void SetImportance(const ProfileInput& input,
                   SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_IMPORTANCE_H_
