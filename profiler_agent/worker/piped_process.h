// PipedProcess: a child process with a pipe to its standard input and one from
// its standard output, whose standard error goes to the log.
//
// Why one for all children: a child that hangs, crashes or leaves others behind
// must cost itself and them only, and say why it ended.
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_PIPED_PROCESS_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_PIPED_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wavetune {

class StderrTail;

class PipedProcess {
 public:
  // Starts `command` (path and arguments; the path is looked up in PATH) in a
  // process group of its own; `role` ("worker") is what messages call it. It
  // has this process's environment, or the variables "NAME=value" that are
  // given. Ignores SIGPIPE in this process from then on. Errors: UNAVAILABLE
  // when it cannot be started.
  static absl::StatusOr<std::unique_ptr<PipedProcess>> Start(
      const std::vector<std::string>& command, const std::string& role,
      const std::vector<std::string>* environment = nullptr);

  // Kills the process if it still runs.
  ~PipedProcess();
  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }

  // Descriptors of frames (frame.h). That of the input is non-blocking.
  int input() const { return input_; }    // The child's standard input.
  int output() const { return output_; }  // The child's standard output.

  // The output was closed: waits for the end and returns why it came. Errors:
  // ABORTED with the signal or exit code and the last line that the child wrote
  // to standard error. CANCELLED where somebody else killed it (SIGKILL,
  // SIGTERM). RESOURCE_EXHAUSTED where its last lines say that something ran
  // out.
  absl::Status Died();

  // Kills it and what it started. Cannot fail.
  void Kill();

  // Lets it end what it started (SIGTERM), and kills it where it has not ended
  // soon. Cannot fail.
  void End();

 private:
  PipedProcess(pid_t pid, int input, int output,
               std::unique_ptr<StderrTail> errors, std::string role);

  // Waits for the end, kills when it does not come, and kills what the process
  // left behind; returns the wait status.
  int Reap(std::chrono::milliseconds patience);

  pid_t pid_;
  int input_;
  int output_;
  std::unique_ptr<StderrTail> errors_;
  std::string role_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_PIPED_PROCESS_H_
