// One launch: its arguments, its attributes, its enqueueing.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_CUDA_LAUNCH_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_CUDA_LAUNCH_H_

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_agent/cuda/cuda_handle.h"
#include "profiler_agent/cuda/cuda_tensor_map.h"
#include "profiler_agent/cuda/launch_shape.h"
#include "profiler_agent/cuda/triton/triton_kernel.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Implementation;
struct KernelSpec;

// The values of a kernel function's parameters: tensor maps, then the
// manifest's arguments.
class CudaArguments {
 public:
  // Fills in scalars; `implementation` nullptr (a reference): no tensor maps.
  // Errors: FAILED_PRECONDITION for a scalar or map that cannot be.
  static absl::StatusOr<CudaArguments> Create(
      const KernelSpec& spec, const Implementation* implementation,
      const Configuration& configuration, const Problem& problem);

  // From now on these are those of a function that Triton made (TritonLaunch);
  // scratch: 0 for none. Before any SetBuffer.
  void BecomeTritons(const TritonLaunch& launch, CUdeviceptr scratch);

  // Sets a buffer argument, and encodes the maps over it. Errors: as
  // EncodeTensorMap.
  absl::Status SetBuffer(const CudaDriver& driver, size_t argument,
                         CUdeviceptr address);

  // Returns the address of each value, in the function's order; valid until
  // this object changes or goes.
  std::vector<void*> Pointers();

 private:
  struct Map {
    size_t argument = 0;
    std::optional<TensorMapPlan> plan;  // Absent: stays zero.
    CUtensorMap value = {};
    // Behind it, of Triton's; the contiguous one last.
    std::array<int32_t, 2> extents = {};
    std::array<int64_t, 2> strides = {};
  };

  std::vector<Map> maps_;
  // Both by argument; what an argument is not stays empty.
  std::vector<CUdeviceptr> buffers_;
  std::vector<std::string> scalars_;
  bool is_tritons_ = false;
  std::vector<bool> passed_;          // TritonLaunch's.
  std::vector<CUdeviceptr> further_;  // After the arguments.
};

// Enqueues a launch of `blocks`. The arguments are copied. Errors: as
// CudaStatus.
absl::Status Launch(const CudaSession& session, CUfunction function,
                    const CudaLaunchShape& shape, const LaunchExtent& blocks,
                    CudaArguments& arguments);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_CUDA_LAUNCH_H_
