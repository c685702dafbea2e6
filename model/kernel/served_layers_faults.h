// The checks of the layers that a kernel serves: a part of ValidateKernelSpec
// (model/kernel/kernel_validation.h).
#ifndef WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_FAULTS_H_
#define WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_FAULTS_H_

#include "model/kernel/kernel_faults.h"

namespace wavetune {

struct KernelSpec;

// Adds a line for each fault of KernelSpec::serves. These are a dimension with
// two meanings or none, missing or alike variants, head dimensions out of
// range, and unknown engines. So is a repeated dimension where a number is
// meant, or the reverse. Names are bound already.
void CheckServedLayers(const KernelSpec& spec, KernelFaults& faults);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_SERVED_LAYERS_FAULTS_H_
