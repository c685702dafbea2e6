// StderrTail: passes a child's standard error on and remembers its last line.
//
// Why a thread: a child that writes more than the pipe holds would block.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_STDERR_TAIL_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_STDERR_TAIL_H_

#include <mutex>
#include <string>
#include <thread>

namespace wavetune {

class StderrTail {
 public:
  // Owns `fd`; each line goes to the log, marked with `name`.
  StderrTail(int fd, std::string name);
  // The child must be dead. Takes what it said, without waiting for others that
  // hold the stream open.
  ~StderrTail();

  // Returns the last line that is not blank, shortened to 500 bytes. The child
  // must be dead.
  std::string LastLine();

 private:
  void JoinReader();
  void Read();
  void TakeLine(const std::string& line);

  int fd_;
  int child_ended_;  // An eventfd.
  std::string name_;
  std::mutex mutex_;
  std::string last_line_;
  std::thread reader_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_STDERR_TAIL_H_
