// TritonProcess: the Python process that compiles one kernel.
//
// It runs triton_server.py in a scratch folder and an environment of its own,
// and ends with this object, or with the thread that started it. So does all
// that the kernel's Python started.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_PROCESS_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_PROCESS_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "profiler_agent/worker/piped_process.h"

namespace wavetune {

// Returns the variables, as "NAME=value", that Python gets of this process's.
std::vector<std::string> TritonEnvironment();

class TritonProcess {
 public:
  // Errors: UNAVAILABLE where the interpreter cannot be started, or there is no
  // place for its scratch folder.
  static absl::StatusOr<std::unique_ptr<TritonProcess>> Start(
      const std::string& python);

  ~TritonProcess();
  TritonProcess(const TritonProcess&) = delete;
  TritonProcess& operator=(const TritonProcess&) = delete;

  bool running() const { return process_->running(); }

  // Returns the answer to a request. Errors: INVALID_ARGUMENT with the
  // process's own message. It is dead after the others:
  // DEADLINE_EXCEEDED it did not answer in time and was killed.
  // RESOURCE_EXHAUSTED somebody else killed it, or something ran out
  // (environment_error.h); else as PipedProcess::Died. DATA_LOSS it did
  // not speak the protocol.
  absl::StatusOr<nlohmann::ordered_json> Call(
      const nlohmann::ordered_json& request, std::chrono::milliseconds timeout);

 private:
  TritonProcess(std::string scratch, std::unique_ptr<PipedProcess> process);

  const std::string scratch_;
  const std::unique_ptr<PipedProcess> process_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_TRITON_TRITON_PROCESS_H_
