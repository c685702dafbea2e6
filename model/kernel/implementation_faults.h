// The checks of a kernel's implementations: a part of ValidateKernelSpec
// (model/kernel/kernel_validation.h).
#ifndef WAVETUNE_MODEL_KERNEL_IMPLEMENTATION_FAULTS_H_
#define WAVETUNE_MODEL_KERNEL_IMPLEMENTATION_FAULTS_H_

#include <vector>

#include "model/kernel/kernel_faults.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

// Adds a line for everything wrong with the implementations on their own:
// names, sources, malformed expressions and relations, tensor maps that do not
// fit their argument, fields that the backend does not support. Returns whether
// CheckImplementationsIn can evaluate what it needs.
bool CheckImplementations(const KernelSpec& spec, KernelFaults& faults);

// Adds a line for every size that some configuration of the space makes
// impossible: a block_size or cluster_size of 0, or the box of an encoded
// tensor map outside of 1 to 256 elements a side (the limit of
// cuTensorMapEncodeTiled). `space` is the space of `spec`, on which
// CheckImplementations returned true.
void CheckImplementationsIn(const std::vector<Configuration>& space,
                            const KernelSpec& spec, KernelFaults& faults);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_IMPLEMENTATION_FAULTS_H_
