// Error bounds: how far a measured latency may lie from a prediction.
//
// A bound is factor * scale, where the scale of a segment is its own mean
// residual (at least 4 %, larger for few observations). The factor comes from
// predictions of representative problems by models that did not see them
// (split-conformal, over folds) where refinement has measured enough of them;
// else it is fixed.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_ERROR_BOUNDS_H_
#define WAVETUNE_MODEL_ERROR_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/candidate_model.h"
#include "model/profile_state.h"

namespace wavetune {

struct BoundRule {
  double factor = 2.5;
  double least = 0.08;
  double most = 0.25;
  int scores = 0;  // Held-out predictions behind the factor; 0: fixed.
};

// Returns the rule for the portfolio `members` of a specialisation: the 94 %
// quantile of held-out |measured / predicted - 1| / scale, limited to [1.5, 4],
// from 20 held-out predictions on. Where all observations are suspect the fixed
// rule is half as wide again. Cannot fail.
// Source: Vovk et al., Algorithmic Learning in a Random World (conformal
// prediction). Deviation: folds instead of one split, as samples are few.
BoundRule CalibrateBounds(const SpecialisationState& specialisation,
                          const std::vector<size_t>& members,
                          int64_t multiprocessors);

// Returns the half-width of a segment's bound, relative to the prediction; the
// rule's largest where nothing was measured in the segment. Cannot fail.
double RelativeBound(const BoundRule& rule, const SegmentQuality& quality);

// Returns the half-width outside of the measured range: half as wide again.
double ExtrapolatedBound(const BoundRule& rule, const SegmentQuality& quality);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_ERROR_BOUNDS_H_
