// KernelSource of the wire -> LoadedKernel, and the few that a process keeps.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_KERNEL_SOURCE_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_KERNEL_SOURCE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "base/recent_map.h"
#include "profiler_agent/measure/backend.h"
#include "proto/wavetune/v1/agent_service.pb.h"

namespace wavetune {

// Returns the kernel, with no specialisation. Errors: INVALID_ARGUMENT listing
// what the spec lacks.
absl::StatusOr<LoadedKernel> LoadedKernelFromProto(
    const v1::KernelSource& proto);

// Whether the message names a kernel that came before, and does not carry it.
bool NamesKernel(const v1::KernelSource& proto);

// The kernels that came last, bound, by fingerprint: of one stream or pipe.
// Thread safety: none.
class KeptKernels {
 public:
  // A job has one kernel; a node's devices seldom more than a few at once.
  static constexpr size_t kMost = 8;

  // Returns the kernel that `proto` carries, and keeps it, or the one that it
  // names. One that comes again as it was is not bound again. Errors: NOT_FOUND
  // where it names one that is not kept; INVALID_ARGUMENT as
  // LoadedKernelFromProto.
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Take(
      const v1::KernelSource& proto);

 private:
  RecentMap<std::shared_ptr<const LoadedKernel>> kernels_{kMost};
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_KERNEL_SOURCE_H_
