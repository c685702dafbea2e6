// WorkerProcess: one child process that speaks the worker protocol.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_WORKER_PROCESS_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_WORKER_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "profiler_agent/measure/reference_use.h"
#include "profiler_agent/worker/piped_process.h"
#include "profiler_agent/worker/starved_time.h"
#include "proto/wavetune/v1/worker.pb.h"

namespace wavetune {

class WorkerProcess {
 public:
  // Starts `command` (path and arguments; the path is looked up in PATH).
  // Ignores SIGPIPE in this process from then on. Errors: UNAVAILABLE when it
  // cannot be started.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(
      const std::vector<std::string>& command);

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return process_->pid(); }
  bool running() const { return process_->running(); }

  // Sends a request and returns the answer (also a WorkerError). Time for which
  // the process got no core does not count, up to four times the timeout.
  // Errors, after each of which the process is dead: DEADLINE_EXCEEDED it did
  // not answer in time and was killed. ABORTED it died, with the signal or exit
  // code and the last line it wrote to standard error. CANCELLED it was killed
  // by somebody else (SIGKILL, SIGTERM). RESOURCE_EXHAUSTED it died, and its
  // last line says that something ran out. DATA_LOSS it did not speak the
  // protocol. UNIMPLEMENTED it died or hung in the reference kernel
  // (BrokenReference). Where a candidate may have brought that about: ABORTED,
  // also where it hung. The reference has the whole timeout for itself.
  absl::StatusOr<v1::WorkerResponse> Call(const v1::WorkerRequest& request,
                                          std::chrono::milliseconds timeout);

 private:
  explicit WorkerProcess(std::unique_ptr<PipedProcess> process)
      : process_(std::move(process)) {}

  absl::StatusOr<v1::WorkerResponse> ReadAnswer(
      Clock::Duration deadline, std::chrono::milliseconds timeout,
      StarvedTime& starved, ReferenceUse& use);

  const std::unique_ptr<PipedProcess> process_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_WORKER_PROCESS_H_
