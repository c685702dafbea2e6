// PredictedCostUs: what it takes to measure something, by what was measured
// already.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_PREDICTED_COST_H_
#define WAVETUNE_FIT_PLAN_PREDICTED_COST_H_

#include <vector>

#include "fit/profile.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// Returns the device time of measuring `items` in microseconds. It is in
// proportion to the iterations of an item's launches, as its candidate's
// samples took it in the median, or, where it has none, all samples did; what
// is short takes 2 ms. Profiles begin with the largest problems, so a mean over
// samples would be many times as much. 0 without samples. Cannot fail.
double PredictedCostUs(const ProfileInput& input,
                       const std::vector<MeasureItem>& items);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_PREDICTED_COST_H_
