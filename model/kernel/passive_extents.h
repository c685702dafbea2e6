// Extents of dimensions that are not searched, for a problem that inverts a
// mapping: as representative problems have them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_PASSIVE_EXTENTS_H_
#define WAVETUNE_MODEL_KERNEL_PASSIVE_EXTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/mapping_structure.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Gives the passive dimensions of `problem` a value in keeping with the
// representative problems of its specialisation; leaves them as they are where
// there are none. An example are the key heads of grouped-query attention:
// where 32 heads share 8 key heads, 12 heads get 3, because their number
// decides how many bytes are read. Cannot fail.
void SetPassiveExtents(const KernelSpec& spec,
                       const MappingStructure& structure, Problem& problem);

// Returns the representative problem of `specialisation` that is nearest to
// these coordinates under `configuration`, or nullptr where there is none. The
// product of both ratios is the least; of equals it is the first. Cannot fail.
const Problem* NearestRepresentative(const KernelSpec& spec,
                                     const std::string& specialisation,
                                     const Configuration& configuration,
                                     int64_t tiles, double iterations);

// Returns the representative problem of `specialisation` in which most of
// `dimensions` are above their minimum, or nullptr where there is none. Of
// equals it is the one with the smallest product of them, then the first.
// Cannot fail.
const Problem* FullestRepresentative(const KernelSpec& spec,
                                     const std::string& specialisation,
                                     const std::vector<int32_t>& dimensions);

// Returns `extents`, then the same with one of `dimensions` halved at a time,
// the one furthest above its minimum first, down to all of them at their
// minimum. Cannot fail.
std::vector<std::vector<int64_t>> HalvedTowardsMinimum(
    const KernelSpec& spec, const std::vector<int32_t>& dimensions,
    std::vector<int64_t> extents);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_PASSIVE_EXTENTS_H_
