// The checks of the layers that a kernel serves: a part of ValidateKernelSpec
// (model/kernel/kernel_validation.h).
#ifndef WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_FAULTS_H_
#define WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_FAULTS_H_

#include "model/kernel/kernel_faults.h"

namespace wavetune {

struct KernelSpec;

// Adds a line for everything wrong with KernelSpec::serves: a dimension with
// two meanings or none, a repeated one where a number is meant (and the other
// way round), specialisations that are missing, variants that are alike, head
// dimensions out of range, unknown engines. Names are bound already.
void CheckServedLayers(const KernelSpec& spec, KernelFaults& faults);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_FAULTS_H_
