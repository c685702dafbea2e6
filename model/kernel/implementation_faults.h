// The checks of a kernel's implementations: a part of ValidateKernelSpec
// (model/kernel/kernel_validation.h).
#ifndef WAVETUNE_MODEL_KERNEL_IMPLEMENTATION_FAULTS_H_
#define WAVETUNE_MODEL_KERNEL_IMPLEMENTATION_FAULTS_H_

#include <vector>

#include "model/kernel/kernel_faults.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

// Adds a line for each fault of the implementations on their own. These are
// malformed names, sources, expressions and relations, tensor maps that do not
// fit their argument, and fields that the backend does not support. Returns
// whether CheckImplementationsIn can evaluate what it needs.
bool CheckImplementations(const KernelSpec& spec, KernelFaults& faults);

// Adds a line for every size that some configuration of the space makes
// impossible. These are a block_size or cluster_size of 0, and a box of an
// encoded tensor map outside of 1 to 256 elements a side (the limit of
// cuTensorMapEncodeTiled). `space` is the space of `spec`, on which
// CheckImplementations returned true.
void CheckImplementationsIn(const std::vector<Configuration>& space,
                            const KernelSpec& spec, KernelFaults& faults);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_IMPLEMENTATION_FAULTS_H_
