// LocalNode: a daemon and an agent of our own, for one command.
//
// They run from a scratch folder, on sockets there, and end with this object;
// the folder goes too.
#ifndef WAVETUNE_CLI_LOCAL_NODE_H_
#define WAVETUNE_CLI_LOCAL_NODE_H_

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
  // Starts both programs. `kernels_dirs` hold kernel folders. Errors: NOT_FOUND
  // where a program is missing.
  static absl::StatusOr<std::unique_ptr<LocalNode>> Start(
      const std::vector<std::string>& kernels_dirs);
  ~LocalNode();

  // Target of the reader socket.
  std::string endpoint() const;

  // Waits until a device is attached and returns its UUID. Errors: CANCELLED
  // after an interrupt; FAILED_PRECONDITION with the end of the log where a
  // program ended; NOT_FOUND where no usable device appeared.
  absl::StatusOr<std::string> WaitForDevice(Daemon& daemon);

 private:
  explicit LocalNode(std::unique_ptr<ScratchFolder> folder)
      : folder_(std::move(folder)) {}

  absl::Status CheckAlive() const;

  // Declared first: it goes last.
  std::unique_ptr<ScratchFolder> folder_;
  std::unique_ptr<ChildProcess> daemon_;
  std::unique_ptr<ChildProcess> agent_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_LOCAL_NODE_H_
