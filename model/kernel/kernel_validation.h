// Semantic checks of a kernel spec: what its fields mean together.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_VALIDATION_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_VALIDATION_H_

#include <cstdint>

#include "absl/status/status.h"

namespace wavetune {

struct KernelSpec;

// What compiling a candidate of a small kernel takes of a core, in milliseconds
// (OpenCL on a CPU: docs/manifest.md, "What profiling costs").
inline constexpr int64_t kUsualCompileMs = 400;

// Returns OK if the spec can be tuned. Errors: INVALID_ARGUMENT; the message
// lists every fault, one a line, each with the field, what is wrong and what to
// do. Names: malformed or used twice. Numbers: too many dimensions or
// parameters, a parameter without values, ranges upside down. Mapping: one that
// cannot be inverted, or with a micro parameter. Space: empty or above
// kMaxConfigurations, a default outside of it, no configuration legal for every
// problem. Problems: correctness missing, representative ones out of range or
// with missing dimensions. Launches: an argument without a size (an empty
// product), sources outside of the kernel's folder, sizes of 0 in the space,
// fields that a backend does not support (implementation_faults.h).
absl::Status ValidateKernelSpec(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_VALIDATION_H_
