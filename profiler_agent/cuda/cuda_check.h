// The correctness check of a candidate against the manifest's reference.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_

#include <cuda.h>

#include <cstdint>

#include "absl/status/status.h"
#include "model/configuration.h"
#include "model/kernel_spec.h"
#include "model/problem.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/launch_shape.h"

namespace wavetune {

struct CudaCheck {
  const KernelSpec* spec = nullptr;  // With a reference.
  const Implementation* implementation = nullptr;
  CUfunction candidate = nullptr;
  CUfunction reference = nullptr;
  Configuration configuration;
  CudaLaunchShape shape;
  int64_t capacity = 1;
};

// Runs candidate and reference on the same random inputs (of `seed`), outputs
// poisoned, and compares every output. Elements just past an output must stay
// as they were. Errors: DATA_LOSS naming the output and its error; as Finish
// and BrokenReference where the candidate or the reference cannot be run.
absl::Status CheckResults(const CudaSession& session, const CudaCheck& check,
                          const Problem& problem, uint64_t seed);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_CHECK_H_
