// WeightedProblem: a problem and how much it counts.
#ifndef WAVETUNE_MODEL_KERNEL_WEIGHTED_PROBLEM_H_
#define WAVETUNE_MODEL_KERNEL_WEIGHTED_PROBLEM_H_

#include "wavetune/problem.h"

namespace wavetune {

// A problem and how often it is asked for, relative to others (> 0).
struct WeightedProblem {
  Problem problem;
  double weight = 1;

  friend bool operator==(const WeightedProblem&,
                         const WeightedProblem&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_WEIGHTED_PROBLEM_H_
