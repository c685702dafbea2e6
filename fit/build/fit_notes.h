// What a fit has to say, in clear words.
#ifndef WAVETUNE_FIT_BUILD_FIT_NOTES_H_
#define WAVETUNE_FIT_BUILD_FIT_NOTES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/error_bounds.h"
#include "fit/models/profile_state.h"
#include "model/table/table.h"

namespace wavetune {

struct FitNote {
  std::string text;
  // How much it speaks against the table: 0 informs only. Of equals the first
  // counts more.
  double severity = 0;
};

// Returns the texts of notes that speak against the table, the worst first: at
// most kMostWarnings, and a line that counts the rest. Cannot fail.
std::vector<std::string> Warnings(std::vector<FitNote> notes);
inline constexpr size_t kMostWarnings = 4;

// Returns what notes on a specialisation begin with: "[causal] ", or nothing
// where it has no name. Cannot fail.
std::string NotePrefix(const SpecialisationState& specialisation);

// Both return notes for FitReport::notes and cannot fail.

// Notes on samples that were dropped, merged or doubted.
std::vector<FitNote> NotesOnSamples(const ProfileState& state);

// Notes on one specialisation's table. Its parts: portfolio and groups,
// candidates left out, segments without own samples, bounds so wide that the
// default is kept, a poor fit, no candidate that is always legal. `members`
// index the candidates.
std::vector<FitNote> NotesOnTable(const SpecialisationState& specialisation,
                                  const std::vector<CandidateModel>& models,
                                  const std::vector<bool>& eligible,
                                  const std::vector<size_t>& members,
                                  const SubTable& sub_table,
                                  const BoundRule& rule);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_FIT_NOTES_H_
