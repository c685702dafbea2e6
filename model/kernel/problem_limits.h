// Whether a problem is within what planning may construct.
#ifndef WAVETUNE_MODEL_KERNEL_PROBLEM_LIMITS_H_
#define WAVETUNE_MODEL_KERNEL_PROBLEM_LIMITS_H_

#include <string>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;
struct Mapping;
struct ProblemLimits;

// Returns which limit a problem exceeds under a configuration, "argument 'a'
// would have …"; empty where it exceeds none. `mapping` is its
// specialisation's. Cannot fail.
std::string LimitExceeded(const KernelSpec& spec, const Mapping& mapping,
                          const Configuration& configuration,
                          const Problem& problem, const ProblemLimits& limits);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_PROBLEM_LIMITS_H_
