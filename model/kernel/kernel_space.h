// The configurations of a kernel, enumerated within bounds.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_

#include <vector>

#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

struct KernelSpace {
  // In lexicographic order of the parameters' value indices; at most
  // kMaxConfigurations + 1.
  std::vector<Configuration> configurations;
  // False: the search was given up, the space may be larger.
  bool complete = true;
};

// Returns the configurations that fulfil the constraints. A constraint is
// applied as soon as its last parameter has a value, so that a large cross
// product with few survivors is cheap; a search that visits too many partial
// configurations all the same is given up. Cannot fail.
KernelSpace EnumerateSpace(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_
