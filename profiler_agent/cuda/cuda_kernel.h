// A kernel function that was loaded onto the device, and what it occupies.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_KERNEL_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_KERNEL_H_

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_compiler.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/launch_shape.h"

namespace wavetune {

struct CudaKernel {
  CudaModuleHandle module;
  CUfunction function = nullptr;       // In the module.
  int registers = 0;                   // Per thread.
  int static_shared_bytes = 0;         // Per group.
  std::optional<TritonLaunch> triton;  // As Cubin has them.
  std::string unfit;
};

// Errors: as CudaStatus.
absl::StatusOr<CudaKernel> LoadKernel(const CudaSession& session,
                                      const Cubin& cubin);

// How many blocks of a shape run at once.
struct CudaResidency {
  int32_t blocks_per_multiprocessor = 1;
  int64_t tiles_per_wave = 1;  // On the whole device.
};

// Allows the kernel the shape's shared memory and clusters, and returns its
// residency there. Errors: FAILED_PRECONDITION where not one group, or cluster,
// fits (says what it wants); as CudaStatus.
absl::StatusOr<CudaResidency> AdmitShape(const CudaSession& session,
                                         const CudaKernel& kernel,
                                         const CudaLaunchShape& shape);

// Loads what `compile` returns. Machine code from the cache on disk that the
// driver refuses is forgotten and compiled anew, once. Errors: of `compile`; as
// LoadKernel.
absl::StatusOr<CudaKernel> LoadOrRecompile(
    const CudaSession& session, const CudaCompiler& compiler,
    const std::function<absl::StatusOr<Cubin>()>& compile);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_KERNEL_H_
