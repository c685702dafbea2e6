// What a fit has to say, in clear words.
#ifndef WAVETUNE_MODEL_TABLE_FIT_FIT_NOTES_H_
#define WAVETUNE_MODEL_TABLE_FIT_FIT_NOTES_H_

#include <string>
#include <vector>

#include "model/fit/candidate_model.h"
#include "model/profile/error_bounds.h"
#include "model/profile/profile_state.h"
#include "model/table/table.h"

namespace wavetune {

// Return lines for FitReport::notes. Cannot fail.
//
// Of the samples: dropped, merged, doubted.
std::vector<std::string> NotesOnSamples(const ProfileState& state);

// Of one specialisation's table: portfolio and rows, candidates left out,
// models of the serving table that stay,
// segments without samples of their own, bounds, a poor fit, no candidate that
// is legal for every problem. `members` index the candidates.
std::vector<std::string> NotesOnTable(const SpecialisationState& specialisation,
                                      const std::vector<CandidateModel>& models,
                                      const std::vector<bool>& eligible,
                                      const std::vector<size_t>& members,
                                      const SubTable& sub_table,
                                      const BoundRule& rule);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_FIT_FIT_NOTES_H_
