// ChildProcess: another program of ours, started and stopped by its process id.
//
//   auto daemon = ChildProcess::Start({FindProgram("wavetuned"), ...}, {});
//   ...
//   (*daemon)->Stop();  // Also by the destructor.
//
// Thread safety: one thread at a time.
#ifndef WAVETUNE_CLI_CHILD_PROCESS_H_
#define WAVETUNE_CLI_CHILD_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace wavetune::cli {

// Returns the folder of this program; empty where the system does not say.
std::filesystem::path ProgramFolder();

// Returns the folder share/wavetune/NAME of the installation that this program
// belongs to, else the folder `in_clone` of the clone that it was built in.
// Empty where there is neither.
std::string FolderBeside(const std::string& name, const std::string& in_clone);

// Returns the program beside this one, else its name (looked up in PATH).
std::string FindProgram(const std::string& name);

class ChildProcess {
 public:
  struct Options {
    // Standard output and error are appended to this file; empty: inherited.
    std::string log_path;
    // Standard output is written to this file instead.
    std::string output_path;
    // A group of its own, so that Ctrl-C reaches only us and we stop the child
    // in order.
    bool own_group = false;
    // A session of its own: it outlives the terminal. For programs that go on
    // without us (Leave).
    bool own_session = false;
    // Its standard input is a pipe that ends with us, even after kill -9: for
    // programs started with --end-with-stdin.
    bool ends_with_us = false;
  };

  // Errors: NOT_FOUND where there is no such program; INTERNAL with the
  // system's words.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments, const Options& options);
  // As Stop.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for the end and returns the exit code; 128 + signal for a signal.
  // Passes an interrupt on to the child.
  absl::StatusOr<int> Wait();

  // Returns the exit code if the child has ended.
  std::optional<int> Poll();

  pid_t pid() const { return pid_; }

  // Lets the child go on without us. Call nothing else afterwards.
  void Leave();

  // Asks the child to end (SIGTERM), and after some seconds makes it. Cannot
  // fail; does nothing once it has ended.
  void Stop();

 private:
  ChildProcess(pid_t pid, int lifeline) : pid_(pid), lifeline_(lifeline) {}

  pid_t pid_;
  int lifeline_;  // The end of its standard input that is ours; -1: none.
  std::optional<int> exit_code_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_CHILD_PROCESS_H_
