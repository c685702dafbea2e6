// WeightedProblem: a problem, how much it counts, and what others launch there.
#ifndef WAVETUNE_MODEL_KERNEL_WEIGHTED_PROBLEM_H_
#define WAVETUNE_MODEL_KERNEL_WEIGHTED_PROBLEM_H_

#include <string>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// What somebody else would launch at a problem of a kernel.
struct Rival {
  std::string name;  // "vllm's rule", "vllm's file".
  Configuration configuration;
  std::string device = {};  // The label of the one that a file is for.

  friend bool operator==(const Rival&, const Rival&) = default;
};

// A problem and how often it is asked for, relative to others (> 0).
struct WeightedProblem {
  Problem problem;
  double weight = 1;
  std::vector<Rival> rivals = {};  // What files of engines have for it.

  friend bool operator==(const WeightedProblem&,
                         const WeightedProblem&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_WEIGHTED_PROBLEM_H_
