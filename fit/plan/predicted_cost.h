// PredictedCostUs: the cost of measuring something, by earlier
// measurements.
//
// Thread safety: pure functions; a predictor may be read by several threads.
#ifndef WAVETUNE_FIT_PLAN_PREDICTED_COST_H_
#define WAVETUNE_FIT_PLAN_PREDICTED_COST_H_

#include <map>
#include <string>
#include <utility>
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

// The same for several sets of items, looking through the samples once.
class CostPredictor {
 public:
  // `input.spec` outlives this.
  explicit CostPredictor(const ProfileInput& input);

  double CostUs(const std::vector<MeasureItem>& items) const;

 private:
  const KernelSpec& spec_;
  // Medians of an iteration's time: all samples have this one (0: none), each
  // candidate's samples have theirs.
  double usual_us_ = 0;
  std::map<std::pair<std::string, Configuration>, double> own_us_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_PREDICTED_COST_H_
