// Misfit notes: which coordinate a fit does not follow, by how much, and what
// an author can do.
//
//   for (FitNote& note : NotesOnMisfit(input, specialisation, models,
//   eligible))
//     notes.push_back(std::move(note));
//
// Why: a kernel's mapping may count what the kernel does not do, or leave out
// what takes its time. Nothing else tells an author.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_BUILD_MISFIT_NOTES_H_
#define WAVETUNE_FIT_BUILD_MISFIT_NOTES_H_

#include <vector>

#include "fit/build/fit_notes.h"
#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"
#include "fit/profile.h"

namespace wavetune {

// By how much of a latency predictions must come closer on average once a
// coordinate is known, and by which share of their error, for the fit not to
// follow it (docs/decisions/0031).
inline constexpr double kWorthNaming = 0.02;
inline constexpr double kShareOfError = 0.1;

// Returns a note on each coordinate that the models of eligible candidates do
// not follow, at most two, the worse first: its name, how long launches take at
// either end of it against what the model says, the mean error with and without
// it, what to change. None where the fit follows, or where nothing explains
// what it misses with a probability of 95 %.
//
// Judged are launches at representative problems, each predicted by a model
// that was fitted without it; where none was measured all launches, as fitted.
// Cannot fail. Cost: two fits of every eligible candidate, and a sort of these
// launches for each coordinate.
std::vector<FitNote> NotesOnMisfit(const ProfileInput& input,
                                   const SpecialisationState& specialisation,
                                   const std::vector<CandidateModel>& models,
                                   const std::vector<bool>& eligible);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_MISFIT_NOTES_H_
