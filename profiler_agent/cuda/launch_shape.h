// The shape of a CUDA launch, and the arithmetic of capacity. Pure.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_LAUNCH_SHAPE_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_LAUNCH_SHAPE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/configuration.h"
#include "model/device.h"
#include "model/kernel_spec.h"
#include "model/problem.h"

namespace wavetune {

// One-dimensional.
struct CudaLaunchShape {
  int64_t groups = 1;  // A multiple of the cluster size.
  int64_t group_size = 1;
  int64_t shared_bytes = 0;  // Dynamic.
  int64_t cluster_size = 1;  // 1: launched without the attribute.
  bool persistent = false;   // Launches no more groups than are resident.

  friend bool operator==(const CudaLaunchShape&,
                         const CudaLaunchShape&) = default;
};

// Returns the shape of a launch: groups default to the mapping's tiles. Errors:
// FAILED_PRECONDITION where the device's limits are exceeded (says which).
absl::StatusOr<CudaLaunchShape> CudaShapeOf(
    const KernelSpec& spec, const Implementation& implementation,
    const std::string& specialisation, const Configuration& configuration,
    const Problem& problem, const DeviceFacts& facts);

// Returns the groups that run at once: whole clusters where there are any (some
// multiprocessors do not fit into one), else the resident ones of every
// multiprocessor. `clusters` counts the whole device.
int64_t CapacityOf(const CudaLaunchShape& shape, int64_t multiprocessors,
                   int64_t blocks_per_multiprocessor, int64_t clusters);

// Returns how many groups are launched: of a persistent kernel at most
// `capacity`.
int64_t GroupsToLaunch(const CudaLaunchShape& shape, int64_t capacity);

// Returns the shape of a reference of one work item per index: the largest
// group up to 256 that divides `work_items`, as a reference need not tolerate
// more of them.
CudaLaunchShape ReferenceShape(int64_t work_items);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_LAUNCH_SHAPE_H_
