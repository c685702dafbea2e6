// Program: a process that a test starts, kills and waits for.
//
//   auto daemon = Program::Start({bin + "/wavetuned", "--store", dir},
//                                {.log_path = dir + "/daemon.log"});
//   daemon->Kill();  // kill -9
//
// Only processes that were started here are ever signalled, by their id.
// Thread safety: one thread at a time.
#ifndef WAVETUNE_TESTS_LIB_PROGRAM_H_
#define WAVETUNE_TESTS_LIB_PROGRAM_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wavetune::testing {

struct ProgramOptions {
  std::string log_path;  // Output and errors are appended here; empty: ours.
  std::string out_path;  // Standard output alone, anew; empty: `log_path`.
  std::map<std::string, std::string> environment;  // On top of ours.
  uid_t uid = 0;  // Runs as this user and group; 0: as we do.
};

class Program {
 public:
  // Starts a program by its path; one that cannot be started ends with 127.
  static std::unique_ptr<Program> Start(
      const std::vector<std::string>& arguments,
      const ProgramOptions& options = {});
  // As Kill.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }

  // Sends SIGKILL and waits. Does nothing once it has ended.
  void Kill();

  // Sends SIGTERM and waits; SIGKILL after `patience`. Returns as Poll.
  std::optional<int> Stop(std::chrono::seconds patience);

  // Returns the exit code once it has ended; 128 + signal for a signal.
  std::optional<int> Poll();

  // Waits for the end. Returns as Poll.
  std::optional<int> Wait(std::chrono::seconds patience);

 private:
  explicit Program(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<int> exit_code_;
};

// Returns the children of a process, by /proc.
std::vector<pid_t> ChildrenOf(pid_t parent);

// Returns a file's text; empty where there is none.
std::string ReadText(const std::string& path);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_PROGRAM_H_
