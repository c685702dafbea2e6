// DeviceFacts of an NVIDIA GPU.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_FACTS_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_FACTS_H_

#include <cuda.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/device.h"
#include "profiler_agent/cuda/cuda_driver.h"
#include "profiler_agent/cuda/nvml.h"

namespace wavetune {

struct CudaDeviceEntry {
  CUdevice device = 0;
  DeviceFacts facts;
  std::optional<NvmlDevice> nvml;
};

struct CudaDeviceList {
  std::vector<CudaDeviceEntry> entries;
  std::vector<std::string> failures;  // Why a GPU was left out; a line each.
};

// Returns every device that the driver shows to this process, in its order: it
// obeys CUDA_VISIBLE_DEVICES. One that does not answer is left out with its
// failure; so is one of which NVML fails, as it would have other keys then.
// `nvml` nullptr: what only NVML knows is left empty, and memory is CUDA's
// total, which depends on the driver. `compiler` is the compiler's version.
// Errors: as CudaStatus.
absl::StatusOr<CudaDeviceList> ListCudaDevices(const CudaDriver& driver,
                                               const Nvml* nvml,
                                               const std::string& compiler);

// The parts of the facts that are made up here; pure, exposed for tests.

// Returns "GPU-00112233-4455-6677-8899-aabbccddeeff", or "MIG-..." for a
// partition: as nvidia-smi -L prints it.
std::string CudaUuid(const std::array<uint8_t, 16>& bytes, bool is_partition);

// Returns the partition profile, "1g.10gb", in the name that the driver gives a
// MIG device ("NVIDIA H100 80GB HBM3 MIG 1g.10gb"); empty for a whole GPU.
std::string PartitionOf(absl::string_view name);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_FACTS_H_
