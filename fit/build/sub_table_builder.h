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
// Members of one macro configuration, capacity and set of predicates share a
// row. Micro table: per (row regime, wave regime, loop anchor) the member that
// is fastest over four grids of the wave regime, an incumbent or else the
// lowest index within kMicroTie. The row's coefficients are those of the member
// that has most of its cells: sharing costs nothing against models of the
// envelope, of the pooled members or of each (98.9, 98.9, 98.9, 98.9 % of the
// best on the H200 Triton GEMM trace, 2026-11).
//
// Shapes: `members` are indices of candidates with a model. Cannot fail.
// Source: arXiv 2604.10187, section 4.4.
SubTable BuildSubTable(const KernelSpec& spec,
                       const SpecialisationState& specialisation,
                       const std::vector<CandidateModel>& models,
                       std::vector<size_t> members, const BoundRule& rule);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_SUB_TABLE_BUILDER_H_
