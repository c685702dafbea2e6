// WorkerProcess: one child process that speaks the worker protocol.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_WORKER_PROCESS_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_WORKER_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "profiler_agent/measure/reference_use.h"
#include "proto/wavetune/v1/worker.pb.h"

namespace wavetune {

class StderrTail;

class WorkerProcess {
 public:
  // Starts `command` (path and arguments; the path is looked up in PATH).
  // Ignores SIGPIPE in this process from then on. Errors: UNAVAILABLE when it
  // cannot be started.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(
      const std::vector<std::string>& command);

  // Kills the process if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }

  // Sends a request and returns the answer (also a WorkerError). Errors, after
  // each of which the process is dead: DEADLINE_EXCEEDED it did not answer in
  // time and was killed; ABORTED it died, with the signal or exit code and the
  // last line it wrote to standard error; CANCELLED it was killed by somebody
  // else (SIGKILL, SIGTERM); RESOURCE_EXHAUSTED it died, and its last line says
  // that something ran out; DATA_LOSS it did not speak the protocol;
  // UNIMPLEMENTED it died or hung in the reference kernel (BrokenReference),
  // unless a candidate may have brought that about: then ABORTED also where it
  // hung. The reference has the whole timeout for itself.
  absl::StatusOr<v1::WorkerResponse> Call(const v1::WorkerRequest& request,
                                          std::chrono::milliseconds timeout);

 private:
  WorkerProcess(pid_t pid, int input, int output,
                std::unique_ptr<StderrTail> errors);

  absl::StatusOr<v1::WorkerResponse> ReadAnswer(
      Clock::Duration deadline, std::chrono::milliseconds timeout,
      ReferenceUse& use);
  absl::Status Died();
  void Kill();
  // Waits for the end, kills when it does not come, and kills what the process
  // left behind; returns the wait status.
  int Reap(std::chrono::milliseconds patience);

  pid_t pid_;
  int input_;   // The child's standard input.
  int output_;  // The child's standard output.
  std::unique_ptr<StderrTail> errors_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_WORKER_PROCESS_H_
