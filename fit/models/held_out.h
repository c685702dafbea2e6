// Held-out observations: what a candidate's model says of representative
// problems that it was not fitted to.
//
//   for (const HeldOutFold& fold : HeldOutFolds(candidate.observations, 4)) {
//     const CandidateModel without = FitCandidate(..., fold.fitted);
//     for (const Observation* o : fold.held_out) Judge(without, *o);
//   }
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_HELD_OUT_H_
#define WAVETUNE_FIT_MODELS_HELD_OUT_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "fit/samples/observation.h"

namespace wavetune {

struct HeldOutFold {
  std::vector<Observation> fitted;
  std::vector<const Observation*> held_out;  // Into the input.
};

// Returns up to `folds` folds. Each holds out every so many-th representative
// observation, and together they hold out each of them once; all others,
// anchors among them, are fitted. A fold that holds out nothing or leaves fewer
// than kFewestObservations (fit/models/eligibility.h) is left out.
//
// Shapes: any number of observations, which must outlive the folds; folds >= 2.
// Cannot fail.
std::vector<HeldOutFold> HeldOutFolds(
    absl::Span<const Observation> observations, size_t folds);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_HELD_OUT_H_
