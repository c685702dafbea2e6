// Declared workloads as commands use them: found at the daemon, and made into
// problems here.
#ifndef WAVETUNE_CLI_WORKLOADS_H_
#define WAVETUNE_CLI_WORKLOADS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/daemon.h"
#include "cli/shapes_file.h"
#include "formats/workload/layer_problems.h"
#include "formats/workload/workload.h"
#include "proto/wavetune/v1/workload_service.pb.h"
#include "wavetune/problem.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

struct KnownWorkload {
  v1::WorkloadInfo info;
  Workload workload;
  ModelLayers layers;
};

// Errors: as Daemon::Ask; FAILED_PRECONDITION for one that this version
// derives no layers from.
absl::StatusOr<KnownWorkload> FindWorkload(Daemon& daemon,
                                           const std::string& name);

// Returns the problems that judge decisions for a workload: at token counts
// that profiles never measure, of layers that the kernel serves; distinct, with
// the layer as label. `specialisation`, where not empty, keeps only its own.
// Errors: FAILED_PRECONDITION where there are none, and why.
absl::StatusOr<std::vector<Shape>> JudgedShapes(
    const KernelSpec& spec, const KnownWorkload& workload,
    const std::string& specialisation = "");

// Returns the problems that profiles measure for it, each with its
// specialisation. Cannot fail.
std::vector<Problem> ProfiledProblems(const KernelSpec& spec,
                                      const KnownWorkload& workload);

// Returns the names of the daemon's valid kernels that serve layers of a
// workload. Errors: as Daemon::Ask; FAILED_PRECONDITION where none does.
absl::StatusOr<std::vector<std::string>> KernelsServing(
    Daemon& daemon, const KnownWorkload& workload);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_WORKLOADS_H_
