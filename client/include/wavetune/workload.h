// Workloads: models that are served, declared so that profiles measure at their
// widths (docs/workloads.md).
//
//   client->AddWorkload("qwen3-30b", config_json,
//                       {.tensor_parallel = 2, .max_tokens = 8192});
//
// Thread safety: plain values.
#ifndef WAVETUNE_WORKLOAD_H_
#define WAVETUNE_WORKLOAD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wavetune/expected_routing.h"

namespace wavetune {

// How an engine runs a model.
struct WorkloadOptions {
  int64_t tensor_parallel = 1;  // Devices that share each layer.
  int64_t expert_parallel = 1;  // Devices that share the experts.
  int64_t max_tokens = 16384;   // That enter a layer at once at most.
  ExpertPopularity routing;     // How tokens are spread over experts.
};

// What the daemon made of a workload.
struct DeclaredWorkload {
  std::string architecture;
  bool unchanged = false;  // It was declared before, the same.
  // Kernels that serve layers of it, with the problems that profiles may
  // measure for it.
  std::map<std::string, int> problems;
  std::vector<std::string> notes;  // What people should know.
};

}  // namespace wavetune

#endif  // WAVETUNE_WORKLOAD_H_
