// LocalNode: a daemon and an agent that this process starts.
//
// For one command they run from a scratch folder, on sockets there, and end
// with this object; the folder goes too. The user's own run where everybody
// looks for them, and may be left to go on.
#ifndef WAVETUNE_CLI_LOCAL_NODE_H_
#define WAVETUNE_CLI_LOCAL_NODE_H_

#include <sys/types.h>

#include <ios>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/child_process.h"
#include "cli/daemon.h"
#include "cli/scratch_folder.h"

namespace wavetune::cli {

class LocalNode {
 public:
  // Starts both programs. `kernels_dirs` hold kernel folders. `backends`: of
  // the agent; empty: all. Errors: NOT_FOUND where a program is missing.
  static absl::StatusOr<std::unique_ptr<LocalNode>> Start(
      const std::vector<std::string>& kernels_dirs,
      const std::string& backends = "");
  // Starts those programs for this user to which there is nobody: a daemon
  // where `daemon`, an agent where `agent`. `folder`: of their logs. `python`:
  // for Triton; empty: the agent's default. Errors: as Start.
  static absl::StatusOr<std::unique_ptr<LocalNode>> StartForUser(
      bool daemon, bool agent, const std::string& folder,
      const std::vector<std::string>& kernels_dirs, const std::string& python);
  ~LocalNode();

  // Target of the reader socket.
  std::string endpoint() const { return endpoint_; }

  // Waits until the daemon answers. Errors: as WaitForDevice; NOT_FOUND where
  // it does not in time.
  absl::Status WaitForDaemon(Daemon& daemon);

  // Waits until a device is attached, the one named `uuid` unless that is
  // empty, and returns its UUID. Errors: CANCELLED after an interrupt;
  // FAILED_PRECONDITION with the end of the log where a program ended;
  // NOT_FOUND where no such usable device appeared.
  absl::StatusOr<std::string> WaitForDevice(Daemon& daemon,
                                            const std::string& uuid = "");

  // Returns the process ids of the programs that it started by their names.
  std::map<std::string, pid_t> Started() const;

  // Lets them go on.
  void Leave();

 private:
  LocalNode(std::unique_ptr<ScratchFolder> scratch, std::string folder,
            std::string endpoint)
      : scratch_(std::move(scratch)),
        folder_(std::move(folder)),
        endpoint_(std::move(endpoint)) {}

  std::string LogOf(const std::string& program) const;
  // What the program has written since it was started here.
  std::string EndOfLog(const std::string& program) const;
  // Starts a program with a log. Errors: as ChildProcess::Start.
  absl::StatusOr<std::unique_ptr<ChildProcess>> StartProgram(
      const std::string& name, std::vector<std::string> arguments,
      ChildProcess::Options options,
      const std::vector<std::string>& kernels_dirs = {});
  // Errors: FAILED_PRECONDITION with the end of the log of one that has ended.
  absl::Status CheckRuns(ChildProcess* child, const std::string& name) const;

  // Declared first: it goes last. Nothing for the user's own.
  std::unique_ptr<ScratchFolder> scratch_;
  std::string folder_;  // The logs lie there.
  std::string endpoint_;
  std::map<std::string, std::streamoff> log_begins_;  // By program.
  std::unique_ptr<ChildProcess> daemon_;
  std::unique_ptr<ChildProcess> agent_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_LOCAL_NODE_H_
