// Extents of dimensions that drive neither grid nor loop, for a problem that
// inverts a mapping.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_PASSIVE_EXTENTS_H_
#define WAVETUNE_MODEL_KERNEL_PASSIVE_EXTENTS_H_

#include "model/kernel/mapping_structure.h"
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

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_PASSIVE_EXTENTS_H_
