// Compiles and checks candidates of one kernel, without a daemon: what a
// kernel's author runs after every change (`wavetune kernels compile`).
#ifndef WAVETUNE_PROFILER_AGENT_COMMANDS_COMPILE_COMMAND_H_
#define WAVETUNE_PROFILER_AGENT_COMMANDS_COMPILE_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_agent/link/agent_devices.h"

namespace wavetune {

struct CompileCommandOptions {
  AgentDevicesOptions devices;
  std::string kernel_dir;
  std::string device_uuid;  // Empty: the first device that runs the kernel.
  // "sm_90a": compiles CUDA candidates for it, without a GPU and without
  // checking results. Empty: uses a device.
  std::string architecture;
  int sample = 8;    // Candidates, spread over the space; the default
                     // configuration is always among them.
  bool all = false;  // Every candidate.
  // Checks on a CPU through OpenCL, with arguments that end, and in a second
  // pass begin, at a page that nobody may touch.
  bool guard_pages = false;
  bool json = false;
};

// Compiles the candidates of every specialisation in worker processes, compares
// their results with the reference, and prints a line for each and a summary.
// What the manifest does not mean for the device is skipped and counted.
// Returns how many were refused. Errors: INVALID_ARGUMENT for a kernel that is
// not valid; UNAVAILABLE where no device (or compiler, for an architecture)
// fits, naming those there are; as SpecForDevice and RunPrepareBatch.
absl::StatusOr<int> RunCompileCommand(const CompileCommandOptions& options,
                                      std::ostream& out);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_COMMANDS_COMPILE_COMMAND_H_
