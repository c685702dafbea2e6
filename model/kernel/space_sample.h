// A few configurations of a space that say something of all of it.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_SPACE_SAMPLE_H_
#define WAVETUNE_MODEL_KERNEL_SPACE_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

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

#endif  // WAVETUNE_MODEL_KERNEL_SPACE_SAMPLE_H_
