// StderrTail: passes a child's standard error on and remembers its last line.
//
// Why a thread: a child that writes more than the pipe holds would block.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_STDERR_TAIL_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_STDERR_TAIL_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {

class StderrTail {
 public:
  // Each line goes to the log, marked with `name`. Owns `fd` where it returns
  // OK. Errors: UNAVAILABLE when no thread can be started.
  static absl::StatusOr<std::unique_ptr<StderrTail>> Start(int fd,
                                                           std::string name);
  // The child must be dead. Takes what it said, without waiting for others that
  // hold the stream open.
  ~StderrTail();

  // Returns the last line that is not blank, shortened to 500 bytes. The child
  // must be dead.
  std::string LastLine();

  // Returns what ran out, where one of the last lines names it
  // (environment_error.h). The child must be dead.
  std::optional<Resource> LastExhausted();

 private:
  explicit StderrTail(std::string name);

  void JoinReader();
  void Read();
  void TakeLine(const std::string& line);

  int fd_ = -1;
  int child_ended_;  // An eventfd.
  std::string name_;
  std::mutex mutex_;
  std::deque<std::string> last_lines_;  // A few; the last one is the last.
  std::thread reader_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_STDERR_TAIL_H_
