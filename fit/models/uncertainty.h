// Uncertainty: how far a latency may lie from what its segment predicts.
//
//   std::vector<CandidateModel> models = FitCandidates(...);
//   SetUncertainty(specialisation, models);   // before PredictMatrix
//
// One pair of numbers for each segment, scatter and bias, says all of it:
//
// - what a candidate competes with: its prediction and kRankErrors times the
//   bias, so that one that was hardly measured must be better by more;
// - the regret that a choice risks (fit/models/expected_regret.h), from
//   kSigmas sigmas;
// - the error bound of an answer (fit/models/error_bounds.h), a factor times
//   sigma, kSigmas where the factor cannot be calibrated.
//
// Why: among many candidates one that is predicted too low wins, most often one
// that was hardly measured (docs/decisions/0033).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_UNCERTAINTY_H_
#define WAVETUNE_FIT_MODELS_UNCERTAINTY_H_

#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// Observations that the scatter of all candidates counts as, beside a
// candidate's own.
inline constexpr double kSharedScatterWeight = 20;

// Errors of the segment that its candidate competes slower by.
inline constexpr double kRankErrors = 1.5;

// Residuals beyond this count as this: robust fits leave outliers alone.
inline constexpr double kMostResidual = 0.3;

// Sigmas within which a latency is taken to lie (docs/decisions/0033).
inline constexpr double kSigmas = 2;

// The least of a sigma: fits flatter, and predictions of problems that nobody
// fitted are off by so much (docs/decisions/0033).
inline constexpr double kLeastSigma = 0.04;

// Returns the standard deviation, relative to the prediction, of what a new
// measurement in the segment's measured range is.
double Sigma(const Uncertainty& uncertainty);

// Sets the uncertainty of each segment of a specialisation's models and, in an
// overlap, its rank margin; sums gain nothing by margins (docs/decisions/0008).
//
// The scatter is the root mean square of the candidate's residuals in the
// segment, each counted by weight times importance, drawn towards that of all
// candidates in the segment (kSharedScatterWeight). The bias is scatter /
// sqrt(n + 1), n being what the residuals count as. A segment without
// observations has a bias of kUnmeasuredMargin, and no margin, since tables let
// it compete so much slower as it is.
//
// Shapes: one model per candidate; those without rows are left out. Cannot
// fail.
void SetUncertainty(const SpecialisationState& specialisation,
                    std::vector<CandidateModel>& models);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_UNCERTAINTY_H_
