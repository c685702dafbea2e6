// PredictedCostUs: the cost of measuring something, by earlier
// measurements.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_PREDICTED_COST_H_
#define WAVETUNE_FIT_PLAN_PREDICTED_COST_H_

#include <vector>

#include "fit/profile.h"
#include "model/kernel/measure_item.h"

namespace wavetune {

// Returns the device time of measuring `items` in microseconds. It is in
// proportion to the iterations of an item's launches, as in the median of its
// candidate's samples, or of all samples where it has none. A short item takes
// 2 ms. Profiles begin with the largest problems, so a mean over samples would
// be many times as much. 0 without samples. Cannot fail.
double PredictedCostUs(const ProfileInput& input,
                       const std::vector<MeasureItem>& items);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_PREDICTED_COST_H_
