// Rank margins: how much slower than predicted a candidate competes.
//
//   std::vector<CandidateModel> models = FitCandidates(...);
//   SetRankMargins(specialisation, models);   // before PredictMatrix
//
// Why: among many candidates one that is predicted too low wins, most often one
// that was hardly measured. So each competes with its prediction and a margin
// on top: a candidate that was hardly measured must be better by more
// (docs/decisions/0008).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_RANK_MARGINS_H_
#define WAVETUNE_FIT_MODELS_RANK_MARGINS_H_

#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// Observations that the spread of all candidates counts as, beside a
// candidate's own.
inline constexpr double kSharedSpreadWeight = 20;

// Standard errors of a margin.
inline constexpr double kMarginErrors = 1.5;

// Fewest observations at representative problems that prove a segment, and the
// margin of one that is not proven: predictions from anchors alone are off by
// more at what clients ask for (docs/decisions/0008).
inline constexpr int kProvingObservations = 2;
inline constexpr double kUnprovenMargin = 0.03;

// Residuals beyond this count as this: robust fits leave outliers alone.
inline constexpr double kMostResidual = 0.3;

// Sets the rank margins of the segments of a specialisation's models where its
// form is kOverlap; sums gain nothing by them.
//
// A margin is kMarginErrors standard errors s / sqrt(n + 1). n is the
// importance of the candidate's observations in the segment, each times its
// weight. s^2 is the mean square of their residuals, drawn towards that of all
// candidates in the segment (kSharedSpreadWeight). kUnprovenMargin is added
// where representative problems were named and the segment has fewer than
// kProvingObservations trusted observations at them. The margin is rounded to
// kRankMarginUnit. It is zero in segments without observations, for which
// kUnmeasuredMargin stands. Models of the serving table keep the margins that
// they have there, if any.
//
// Shapes: one model per candidate; those without rows are left out. Cannot
// fail. Evidence: docs/decisions/0008.
void SetRankMargins(const SpecialisationState& specialisation,
                    std::vector<CandidateModel>& models);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_RANK_MARGINS_H_
