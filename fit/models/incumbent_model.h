// Staying with the models that serve.
//
//   const MacroGroup* group = GroupFittedTo(serving_sub_table, configuration);
//   if (group != nullptr) model = PreferIncumbent(axes, *group, seen, model);
//
// Why: where candidates are nearly equal, the noise of the samples says which
// one a fit ranks first, so each profile of one device chose another. A model
// that explains the new samples about as well as one fitted to them is as
// likely to be right, and what it chooses is what runs already.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_INCUMBENT_MODEL_H_
#define WAVETUNE_FIT_MODELS_INCUMBENT_MODEL_H_

#include "absl/types/span.h"
#include "fit/models/candidate_model.h"
#include "fit/samples/observation.h"
#include "model/table/table.h"
#include "wavetune/configuration.h"

namespace wavetune {

// An incumbent whose error is at most this share above the new fit's stays. Of
// three profiles of a noisy H200 (gemm_bf16, 2026-11), each fitted beside the
// table of the one before, pairs chose the same or within 2 % for 83-90 % of 94
// shapes without it, for 89-100 % with 0.05, 91-99 % with 0.10, 97-100 % with
// 0.15 and 99-100 % with 0.20 (portfolios of 16, 32, 48). What they chose came
// to 95.6-96.6, 95.6-96.8, 95.6-96.8, 95.6-96.5 and 95.6-96.4 % of the best.
inline constexpr double kIncumbentErrorMargin = 0.15;

// Relative; single measurements of an H200 repeat within 0.3 % (median), so
// that better than this is noise.
inline constexpr double kNegligibleError = 0.005;

// Returns the group of `sub_table` that holds the coefficients fitted to
// `configuration`: of the members that share a group these are the ones of the
// member that answers in most cells of the micro table. nullptr where there is
// none. Cannot fail.
const MacroGroup* GroupFittedTo(const SubTable& sub_table,
                                const Configuration& configuration);

// Returns `fitted`, with the coefficients and floors of `incumbent` where these
// predict the observations with an error at most kIncumbentErrorMargin above
// that of `fitted`, or of at most kNegligibleError (weighted means of
// RobustErrorOf, fit/models/robust_fit.h); its quality and range are those of
// the observations in either case. `fitted` as it is where `incumbent` has
// other regimes, steps or another capacity.
//
// Shapes: `axes` as for FitCandidate; `fitted` with its rows. Cannot fail.
CandidateModel PreferIncumbent(const SubTable& axes,
                               const MacroGroup& incumbent,
                               absl::Span<const Observation> observations,
                               CandidateModel fitted);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_INCUMBENT_MODEL_H_
