// The part of the CUDA driver API that launching needs, from libcuda.so.1 at
// run time, and what its codes mean.
//
// Thread safety: thread-safe once loaded.
#ifndef WAVETUNE_LAUNCH_LAUNCH_DRIVER_H_
#define WAVETUNE_LAUNCH_LAUNCH_DRIVER_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

#define WAVETUNE_LAUNCH_FUNCTIONS(X)             \
  X(cuInit)                                      \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuCtxGetCurrent)                             \
  X(cuCtxGetDevice)                              \
  X(cuDeviceGetAttribute)                        \
  X(cuModuleLoadData)                            \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuFuncLoad)                                  \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuOccupancyMaxActiveClusters)                \
  X(cuTensorMapEncodeTiled)                      \
  X(cuMemsetD8Async)                             \
  X(cuLaunchKernelEx)

// A table of functions with the types and names that cuda.h declares.
struct LaunchDriver {
#define WAVETUNE_LAUNCH_MEMBER(name) decltype(&::name) name = nullptr;
  WAVETUNE_LAUNCH_FUNCTIONS(WAVETUNE_LAUNCH_MEMBER)
#undef WAVETUNE_LAUNCH_MEMBER

  // Returns OK for CUDA_SUCCESS, else "<what>: <name>: <description>" with
  // RESOURCE_EXHAUSTED where memory is short, FAILED_PRECONDITION where the
  // launch or the code is at fault, INTERNAL otherwise.
  absl::Status Check(CUresult code, absl::string_view what) const;
};

// Loads and initialises the driver, once a process. Errors:
// FAILED_PRECONDITION where there is none, it is too old or it does not start.
absl::StatusOr<const LaunchDriver*> LoadLaunchDriver();

}  // namespace wavetune

#endif  // WAVETUNE_LAUNCH_LAUNCH_DRIVER_H_
