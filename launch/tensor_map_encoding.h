// A TensorMapPlan as the CUtensorMap that a kernel function takes.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_LAUNCH_TENSOR_MAP_ENCODING_H_
#define WAVETUNE_LAUNCH_TENSOR_MAP_ENCODING_H_

#include <cuda.h>

#include "model/kernel/tensor_map_plan.h"

namespace wavetune {

// The driver's function: it is loaded at run time, never linked.
using TensorMapEncoder = decltype(&::cuTensorMapEncodeTiled);

// Writes the map over `address` (a device address, a multiple of
// kTensorMapAlignment). Elements outside read as zero. Returns what the driver
// answers. Cost: no allocation.
CUresult EncodeTensorMap(TensorMapEncoder encode, const TensorMapPlan& plan,
                         void* address, CUtensorMap* map);

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_TENSOR_MAP_ENCODING_H_
