// Error bounds: how far a measured latency may lie from a prediction.
//
// A bound is factor * scale, where the scale of a segment is its own mean
// residual (at least 4 %, larger for few observations). The factor comes from
// predictions of representative problems by models that did not see them
// (split-conformal, over folds) where refinement has measured enough of them;
// else it is fixed. Row and wave regimes with enough of them have factors of
// their own, since one factor is wrong for single rows and for square grids
// (docs/decisions/0008).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_ERROR_BOUNDS_H_
#define WAVETUNE_FIT_MODELS_ERROR_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

struct BoundRule {
  double factor = 2.5;  // Where a segment has none of its own.
  double least_scale = 0.032;
  double most = 0.25;
  int scores = 0;  // Held-out predictions behind the factors; 0: fixed.
  // [row regime][wave regime]; 0: `factor`. Empty where fixed.
  std::vector<std::vector<double>> own_factors;
};

// Returns the rule for the portfolio `members` of a specialisation: the 93 %
// quantile of held-out |measured / predicted - 1| / scale, limited to [1.5, 3],
// from 20 held-out predictions on, and for a segment of its own from 14 on.
// Where all observations are suspect the fixed rule is half as wide again.
// Cannot fail.
// Source: Vovk et al., Algorithmic Learning in a Random World (conformal
// prediction). Deviation: folds instead of one split, as samples are few.
BoundRule CalibrateBounds(const SpecialisationState& specialisation,
                          const std::vector<size_t>& members,
                          int64_t multiprocessors);

// Returns the half-width of the bound of segment (row regime, wave regime),
// relative to the prediction; the rule's largest where nothing was measured in
// the segment. Cannot fail.
double RelativeBound(const BoundRule& rule, size_t row, size_t wave,
                     const SegmentQuality& quality);

// Returns the half-width outside of the measured range: twice as wide, since
// predictions are biased there, not only noisier (docs/decisions/0008). At most
// 1.5 times the rule's largest.
double ExtrapolatedBound(const BoundRule& rule, size_t row, size_t wave,
                         const SegmentQuality& quality);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ERROR_BOUNDS_H_
