// The CUDA driver API, from libcuda.so.1 at run time.
//
//   absl::StatusOr<const CudaDriver*> driver = LoadCudaDriver();
//   CUresult code = (*driver)->cuDeviceGetCount(&count);
//
// A table of function pointers with the types and names that cuda.h declares,
// so that a call reads like any other and the compiler checks it.
//
// Thread safety: thread-safe once loaded.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_DRIVER_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_DRIVER_H_

#include <cuda.h>

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace wavetune {

// cuda.h maps names to versions (cuMemAlloc is cuMemAlloc_v2): these do the
// same.
#define WAVETUNE_CUDA_FUNCTIONS(X)               \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetUuid)                             \
  X(cuDeviceTotalMem)                            \
  X(cuDeviceGetAttribute)                        \
  X(cuDevicePrimaryCtxSetFlags)                  \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxSetCurrent)                             \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventElapsedTime)                          \
  X(cuModuleLoadData)                            \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuOccupancyMaxActiveClusters)                \
  X(cuLaunchKernelEx)                            \
  X(cuTensorMapEncodeTiled)                      \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemGetInfo)                                \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuMemHostGetDevicePointer)                   \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemcpyDtoDAsync)                           \
  X(cuMemsetD8Async)

// cuFuncGetParamInfo, which drivers have since CUDA 12.4.
using CudaFuncGetParamInfo = CUresult (*)(CUfunction function, size_t index,
                                          size_t* offset, size_t* size);

struct CudaDriver {
#define WAVETUNE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  WAVETUNE_CUDA_FUNCTIONS(WAVETUNE_CUDA_MEMBER)
#undef WAVETUNE_CUDA_MEMBER
  CudaFuncGetParamInfo func_get_param_info = nullptr;  // Null: an older driver.
};

// Loads and initialises the driver, once a process. Errors: NOT_FOUND where
// there is no driver, or it has no device. UNAVAILABLE where it fails to start.
// FAILED_PRECONDITION where it is older than the toolkit of this build (says
// what to install).
absl::StatusOr<const CudaDriver*> LoadCudaDriver();

// The same from another library, and as often as called; for tests.
absl::StatusOr<CudaDriver> LoadCudaDriverFrom(const std::string& library);

// Returns OK where a driver for CUDA `driver_version` (12040 is 12.4) runs what
// a toolkit of `toolkit_version` compiles: within a major version drivers of
// earlier minor versions do. Errors: FAILED_PRECONDITION.
absl::Status CheckDriverVersion(int driver_version, int toolkit_version);

// Returns "12.4" for 12040. Cannot fail.
std::string CudaVersionText(int version);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_DRIVER_H_
