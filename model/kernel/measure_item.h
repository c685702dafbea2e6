#ifndef WAVETUNE_MODEL_KERNEL_MEASURE_ITEM_H_
#define WAVETUNE_MODEL_KERNEL_MEASURE_ITEM_H_

#include <string>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// One (candidate, problem) to measure.
struct MeasureItem {
  Configuration configuration;
  Problem problem;
  // Not empty: this vendor library (Implementation::vendor_baselines) instead
  // of the configuration. Planning never asks for one.
  std::string vendor_baseline = {};

  friend bool operator==(const MeasureItem&, const MeasureItem&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_MEASURE_ITEM_H_
