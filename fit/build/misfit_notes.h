// Misfit notes: which coordinate a fit does not follow, by how much, and what
// an author can do.
//
// Why: a kernel's mapping may count what the kernel does not do, or leave out
// what takes its time. Nothing else tells an author (docs/decisions/0031).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_BUILD_MISFIT_NOTES_H_
#define WAVETUNE_FIT_BUILD_MISFIT_NOTES_H_

#include <vector>

#include "fit/build/fit_notes.h"
#include "fit/models/profile_state.h"
#include "fit/profile.h"

namespace wavetune {

// Returns a note on the coordinate that the models of eligible candidates
// follow worst; none where they follow, or where too few problems say that they
// do not. Coordinates: how full tiles are along each axis, the bytes that a
// tile reads cold for an iteration, and how much longer its longest loop is
// than the mean.
//
// Judged are launches at representative problems, each predicted by a model
// that was fitted without it. The third with the smallest values and the third
// with the largest are compared, each value against the usual one of its
// configuration. A coordinate is not followed where launches of the latter take
// at least a tenth longer than predicted, beside the former, and more than
// three standard errors over their problems. Cannot fail. Cost: two fits of
// every eligible candidate, and a sort of these launches for each coordinate.
std::vector<FitNote> NotesOnMisfit(const ProfileInput& input,
                                   const SpecialisationState& specialisation,
                                   const std::vector<bool>& eligible);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_MISFIT_NOTES_H_
