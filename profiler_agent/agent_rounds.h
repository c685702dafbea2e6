// RunAgent: the agent attached to its daemon, round after round.
//
// A round looks for devices and stays attached with them. It ends with a reload
// (SIGHUP), or where a driver, runtime or compiler is another one or a device
// is new; then the next one begins. SIGTERM and SIGINT end the agent.
#ifndef WAVETUNE_PROFILER_AGENT_AGENT_ROUNDS_H_
#define WAVETUNE_PROFILER_AGENT_AGENT_ROUNDS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "profiler_agent/agent_arguments.h"

namespace wavetune {

// What a round after a reload runs with: the configuration as it is now, or as
// it was where it cannot be used.
using ReadAgain = std::function<absl::StatusOr<Arguments>()>;

// Runs until a signal ends it, and returns the exit code. Throws
// std::system_error where a thread cannot be started. Once in a process.
int RunAgent(Arguments arguments, const ReadAgain& read_again);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_AGENT_ROUNDS_H_
