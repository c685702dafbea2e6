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

// An incumbent whose error is at most this share above the new fit's stays:
// enough for successive profiles to choose alike, and no quality is lost
// (docs/decisions/0010).
inline constexpr double kIncumbentErrorMargin = 0.15;

// Relative; an error below this is the noise of single measurements
// (docs/decisions/0025).
inline constexpr double kNegligibleError = 0.005;

// Returns the group of `sub_table` that holds the coefficients fitted to
// `configuration`: of the members that share a group these are the ones of the
// member that answers in most cells of the micro table. nullptr where there is
// none. Cannot fail.
const MacroGroup* GroupFittedTo(const SubTable& sub_table,
                                const Configuration& configuration);

// Returns `fitted`, with the coefficients and floors of `incumbent` where these
// are about as good: their error is at most kIncumbentErrorMargin above that of
// `fitted`, or at most kNegligibleError. Errors are weighted means of
// RobustErrorOf (fit/models/robust_fit.h) over the observations. Quality and
// range are those of the observations in either case. Returns `fitted` as it is
// where `incumbent` has other regimes, steps or tiles per wave.
//
// Shapes: `axes` as for FitCandidate; `fitted` with its rows. Cannot fail.
CandidateModel PreferIncumbent(const SubTable& axes,
                               const MacroGroup& incumbent,
                               absl::Span<const Observation> observations,
                               CandidateModel fitted);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_INCUMBENT_MODEL_H_
