// Standing: how candidates of one macro configuration compare where several of
// them were measured at the same problem.
//
//   const std::vector<Standing> standing =
//       MeasuredStanding(specialisation, {.row_regime = 0, .wave_regime = 1});
//   const size_t fastest = FastestByStanding(predicted_us, standing);
//
// Predictions of two such candidates differ by what each fit leaves
// unexplained; measurements at one problem do not. So the more problems
// candidates met at, the less their predictions count.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_STANDING_H_
#define WAVETUNE_FIT_MODELS_STANDING_H_

#include <cstddef>
#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

struct Standing {
  double excess = 0;  // Mean of latency / mean latency - 1 where it met others.
  double problems = 0;  // How many these are; doubted measurements count less.
};

// Returns, for each candidate, how much longer it took than its macro
// configuration's candidates in the mean. It is taken at the problems of a row
// and wave regime where two or more of them were measured; all are 0 where it
// met no other. One row of tiles favours more stages than a square grid does,
// so regimes are not mixed. Only + - * / of binary64; cannot fail. Cost: sorts
// the observations.
std::vector<Standing> MeasuredStanding(
    const SpecialisationState& specialisation, const SegmentPlace& place);

// Returns the index of the candidate that is expected to be fastest. It is the
// mean of the prediction, as if measured at two problems, and of its standing,
// as measured at Standing::problems problems. Both are relative to the
// candidates' mean, weighted alike. Of equals the first. Shapes: `predicted`,
// finite and above 0 in any one unit, and `standing` of the same candidates, at
// least one. Cannot fail.
size_t FastestByStanding(const std::vector<double>& predicted,
                         const std::vector<Standing>& standing);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_STANDING_H_
