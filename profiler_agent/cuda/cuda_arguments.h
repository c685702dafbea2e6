// Whether a compiled kernel takes the arguments that its manifest declares.
//
// Why: the driver copies as many bytes as the kernel declares from where each
// argument is. One too few, or a scalar of another size, is no error of the
// driver. The kernel then reads bytes that were never passed.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ARGUMENTS_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ARGUMENTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "profiler_agent/cuda/cuda_driver.h"
#include "profiler_agent/cuda/triton/triton_kernel.h"

namespace wavetune {

struct KernelSpec;

// Returns the sizes in bytes of the parameters that a function takes, in order;
// nothing where the driver cannot say (before CUDA 12.4). Cannot fail.
std::optional<std::vector<size_t>> ParameterSizes(const CudaDriver& driver,
                                                  CUfunction function);

// Returns OK if these are the sizes of what the manifest passes: `tensor_maps`
// maps, then the spec's arguments; of what Triton made, those that are passed,
// and its own (triton_kernel.h), which says how many maps. Errors:
// FAILED_PRECONDITION with the argument, its type and what the function takes.
absl::Status CheckParameterSizes(
    const KernelSpec& spec, size_t tensor_maps, const std::string& entry,
    const std::vector<size_t>& sizes,
    const std::optional<TritonLaunch>& triton = std::nullopt);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ARGUMENTS_H_
