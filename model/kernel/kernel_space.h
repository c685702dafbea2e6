// The configurations of a kernel: all of them, enumerated within bounds, or a
// few that say something of all.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
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

// Returns `size` configurations (all where there are no more): the default,
// then such that every value of every parameter is among them as soon as
// possible, then others spread evenly over the space. Deterministic; distinct;
// size >= 1. Cannot fail. Cost: O(values * configurations) at worst.
std::vector<Configuration> SampleSpace(const KernelSpec& spec, size_t size);

// Returns the values that `space` has and `sample` does not, as "BLOCK_M=256",
// in the order of their declaration. Cannot fail.
std::vector<std::string> ValuesLeftOut(const KernelSpec& spec,
                                       absl::Span<const Configuration> space,
                                       absl::Span<const Configuration> sample);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_
