// SubTableBuilder: the dual tables of one specialisation from the models of its
// portfolio.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_BUILD_SUB_TABLE_BUILDER_H_
#define WAVETUNE_FIT_BUILD_SUB_TABLE_BUILDER_H_

#include <cstddef>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/error_bounds.h"
#include "fit/models/profile_state.h"
#include "model/table/table.h"

namespace wavetune {

struct KernelSpec;

// Returns the sub-table.
//
// Members with one macro configuration, equally many tiles per wave and one set
// of predicates share a group. The micro table has a member for each row
// regime, wave regime and loop anchor. It is the fastest over four grids of the
// wave regime, as predicted and as measured beside the others
// (fit/models/standing.h). The group has the coefficients of the member that
// has most of its cells. Sharing them costs no quality (docs/decisions/0001).
//
// A sub-table whose bounds are wide is wary where the default configuration is
// a member, which then leads its group.
//
// Shapes: `members` are indices of candidates with a model. Cannot fail.
// Source: arXiv 2604.10187, section 4.4.
SubTable BuildSubTable(const KernelSpec& spec,
                       const SpecialisationState& specialisation,
                       const std::vector<CandidateModel>& models,
                       std::vector<size_t> members, const BoundRule& rule);

// From which bound on a gain that is predicted beyond the measured range is no
// reason to leave the default. On GPUs, whose bounds are half as wide, it is
// one (docs/decisions/0033).
inline constexpr double kWaryBound = 0.5;

// Returns whether the median bound beyond the measured range, of the segments
// that were measured, is kWaryBound or more. Others are as wide on every
// device. Cannot fail.
bool HasWideBounds(const SubTable& sub_table);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_SUB_TABLE_BUILDER_H_
