// DaemonConnection: the daemon by role. Tests put a fake behind it.
#ifndef WAVETUNE_CLI_DAEMON_CONNECTION_H_
#define WAVETUNE_CLI_DAEMON_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/commands/job_control.h"
#include "cli/commands/status_reader.h"
#include "cli/table_reader.h"

namespace wavetune::cli {

struct DaemonConnection {
  std::shared_ptr<StatusReader> status;
  std::shared_ptr<TableReader> tables;
  std::shared_ptr<JobControl> jobs;
};

// Returns a connection to the daemon whose reader socket is `endpoint`. Does
// not connect yet. Errors: INVALID_ARGUMENT for an endpoint that is none.
using ConnectFunction =
    std::function<absl::StatusOr<DaemonConnection>(const std::string&)>;

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_DAEMON_CONNECTION_H_
