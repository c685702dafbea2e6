// Other processes: who computes on a GPU beside our own workers.
//
// NVML names processes by their ids as the host counts them. In a container
// those ids mean nothing, or the list is empty: then it is unknown, and only
// utilisation is left to go by.
//
// Thread safety: pure function; ReadProcesses reads /proc.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_OTHER_PROCESSES_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_OTHER_PROCESSES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace wavetune {

// Processes as this one sees them.
struct ProcessView {
  std::map<int64_t, int64_t> parents;  // By process id.
  int64_t agent = 0;                   // Parent of all our workers.
  int own_workers = 0;                 // Other CUDA workers of the agent.
};

// Returns how many of `on_device` are not ours; nullopt where that cannot be
// told: our workers run, and not one of them is in the list. Pure.
std::optional<int> OtherProcesses(const std::vector<int64_t>& on_device,
                                  const ProcessView& view);

// Reads `proc` ("/proc") for a worker of `agent` with the process id `self`.
// Processes that cannot be read are left out. Cannot fail.
ProcessView ReadProcesses(const std::string& proc, int64_t agent, int64_t self);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_OTHER_PROCESSES_H_
