// Error bounds: how far a measured latency may lie from a prediction.
//
// A bound is factor * sigma (fit/models/uncertainty.h), and outside of the
// measured range, where predictions are biased and not only noisier,
// kUnmeasuredMargin (model/kernel/wave_form.h) more. The factor comes from
// predictions of representative problems by models that did not see them
// (split-conformal, over folds) where refinement has measured enough of them;
// else it is kSigmas (docs/decisions/0033).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_ERROR_BOUNDS_H_
#define WAVETUNE_FIT_MODELS_ERROR_BOUNDS_H_

#include <cstddef>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"
#include "fit/models/uncertainty.h"

namespace wavetune {

struct BoundRule {
  double factor = kSigmas;
  int scores = 0;       // Held-out predictions behind the factor; 0: fixed.
  bool trusted = true;  // Whether a sample is not suspect.
};

// Returns the rule for the portfolio `members` of a specialisation: the 93 %
// quantile of held-out |measured / predicted - 1| / sigma, from 20 held-out
// predictions on. Where all observations are suspect nothing counts as
// measured: bounds are kUnmeasuredMargin wider.
//
// Shapes: models as SetUncertainty leaves them, one per candidate. Cannot fail.
// Source: Vovk et al., Algorithmic Learning in a Random World (conformal
// prediction). Deviation: folds instead of one split, as samples are few.
BoundRule CalibrateBounds(const SpecialisationState& specialisation,
                          const std::vector<CandidateModel>& models,
                          const std::vector<size_t>& members,
                          int64_t multiprocessors);

// Return the half-width of a segment's bound, relative to the prediction,
// inside and outside of its measured range. Cannot fail.
double RelativeBound(const BoundRule& rule, const Uncertainty& uncertainty);
double ExtrapolatedBound(const BoundRule& rule, const Uncertainty& uncertainty);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ERROR_BOUNDS_H_
