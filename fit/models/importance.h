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

// How far behind the best a measurement is half as important, and the least
// importance. With these, disturbed samples choose best and vary least
// (docs/decisions/0005).
inline constexpr double kHalfImportant = 0.4;
inline constexpr double kLeastImportance = kHalfImportant / 2;

// Returns the importance of a measurement at which a candidate took `behind`
// times the best latency more than the best. It is 1 at the best, 1/2 at
// kHalfImportant, at least kLeastImportance. Cannot fail.
double ImportanceOf(double behind);

// Sets the importance of every observation of a specialisation whose form has
// any (fit/models/form_mechanisms.h).
//
// The best at a problem is the least latency of its legal candidates, measured
// there or predicted by a first fit to all observations alike. A second fit
// uses the importance that follows. Where it predicts a candidate nearer to the
// best than it was measured, the observation counts as that near. So a
// candidate that was measured slow is not taken for fast.
//
// Shapes: observations must have been added, with an importance of 1; any
// number of candidates. Cannot fail.
// Cost: two fits, and a prediction per candidate and distinct problem.
void SetImportance(const ProfileInput& input,
                   SpecialisationState& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_IMPORTANCE_H_
