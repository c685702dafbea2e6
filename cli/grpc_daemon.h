// The daemon over gRPC. The only file of the command line that knows gRPC.
#ifndef WAVETUNE_CLI_GRPC_DAEMON_H_
#define WAVETUNE_CLI_GRPC_DAEMON_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/daemon_connection.h"

namespace wavetune::cli {

// As ConnectFunction. The admin socket is the reader socket's sibling. Unary
// calls time out after `timeout_s`; streams end when the user interrupts.
absl::StatusOr<DaemonConnection> ConnectGrpcDaemon(
    const std::string& reader_endpoint, double timeout_s = 10);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_GRPC_DAEMON_H_
