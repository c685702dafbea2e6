// Standing: how candidates of one macro configuration compare where several of
// them were measured at the same problem.
//
//   const std::vector<double> standing =
//       MeasuredStanding(specialisation, {.row_regime = 0, .wave_regime = 1});
//   if (standing[a] < standing[b]) ...  // a has been the faster one
//
// Predictions of two such candidates differ by what each fit leaves
// unexplained; measurements at one problem do not. So this decides where
// predictions are near (kMicroTie, fit/models/latency_matrix.h).
//
// Thread safety: pure function.
#ifndef WAVETUNE_FIT_MODELS_STANDING_H_
#define WAVETUNE_FIT_MODELS_STANDING_H_

#include <cstddef>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// Returns, for each candidate, by how much longer it took than the mean of its
// macro configuration's candidates at the problems of a row and wave regime
// where two or more of them were measured: the mean of latency / mean latency
// - 1, as if there were two problems more at which all took equally long. 0
// where there is none. One row of tiles favours more stages than a square grid
// does, so regimes are not mixed.
// Only + - * / of binary64; cannot fail. Cost: sorts the observations.
std::vector<double> MeasuredStanding(const SpecialisationState& specialisation,
                                     const SegmentPlace& place);

// Returns the index of the one with the lowest standing among those of `costs`
// within a factor of 1 + `tie` of the least; of equals the first. Shapes:
// `standing` as `costs`, which are not empty. Cannot fail.
size_t BestStanding(const std::vector<double>& costs,
                    const std::vector<double>& standing, double tie);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_STANDING_H_
