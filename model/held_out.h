// Held-out predictions: what a candidate's model says about representative
// problems that it was not fitted to.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_HELD_OUT_H_
#define WAVETUNE_MODEL_HELD_OUT_H_

#include <cstdint>
#include <vector>

#include "model/candidate_model.h"
#include "model/profile_state.h"
#include "model/table.h"

namespace wavetune {

struct HeldOut {
  const Observation* observation = nullptr;  // Of the candidate.
  double predicted_us = 0;
  SegmentQuality quality;  // Of the segment that predicts it.
};

// Returns a prediction of each representative observation of the candidate by a
// model (with these axes) of all observations but its fold's, of `folds` folds;
// nothing where all observations are in one fold. Shapes: folds >= 2. Cannot
// fail. Cost: `folds` fits.
std::vector<HeldOut> PredictHeldOut(const SubTable& axes,
                                    const CandidateState& candidate,
                                    int64_t multiprocessors, int folds);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_HELD_OUT_H_
