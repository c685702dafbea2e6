// Names of NVIDIA GPU architectures.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ARCHITECTURE_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ARCHITECTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// What machine code is made for. `capability` is the compute capability times
// ten: 90 for 9.0, 120 for 12.0.
struct CudaArchitecture {
  int capability = 0;
  // As the compiler takes it: "sm_90a".
  std::string target;

  friend bool operator==(const CudaArchitecture&,
                         const CudaArchitecture&) = default;
};

// Returns the architecture-specific target ("sm_90a") from 9.0 on, where wgmma,
// tcgen05 and setmaxnreg exist in that form only, and the plain one ("sm_86")
// before, where there is no other. Such code runs on this capability alone,
// which is what it is compiled for. Cannot fail.
CudaArchitecture CudaArchitectureOf(int capability);

// Returns "sm_90", the architecture in a device's facts: hardware, not a choice
// of the compiler's form. Cannot fail.
std::string CudaArchitectureName(int capability);

// Reads "sm_90", "sm_90a" or "sm_100f"; the target stays as given. Errors:
// INVALID_ARGUMENT.
absl::StatusOr<CudaArchitecture> ParseCudaArchitecture(absl::string_view text);

// Returns the shared memory that a block may have on devices of a compute
// capability, in bytes; of one that is not known here the most that any has.
// For devices that are not there to be asked. Source: CUDA C++ Programming
// Guide, technical specifications per compute capability.
int64_t MaxSharedMemoryOf(int capability);

// Returns OK where a compiler that knows `supported` capabilities compiles for
// it. Errors: UNAVAILABLE naming the compiler and what it knows.
absl::Status CheckArchitecture(const CudaArchitecture& architecture,
                               const std::vector<int>& supported,
                               absl::string_view compiler);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_ARCHITECTURE_H_
