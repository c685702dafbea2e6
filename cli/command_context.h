// CommandContext: what every command gets: where to print, how, and the daemon.
#ifndef WAVETUNE_CLI_COMMAND_CONTEXT_H_
#define WAVETUNE_CLI_COMMAND_CONTEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "cli/daemon.h"
#include "cli/output.h"
#include "client/src/endpoint.h"

namespace wavetune::cli {

struct CommandContext {
  Output* out = nullptr;  // Results.
  Output* err = nullptr;  // Progress and remarks.
  bool terminal = false;  // `err` is a terminal.
  bool json = false;      // Results and errors as JSON.
  bool quiet = false;     // Nothing but results and errors.
  size_t width = 100;     // Characters of a help text's line.
  std::string endpoint;   // As given; may be empty.
  ConnectFunction connect;

  // Returns the gRPC target of the reader socket.
  std::string Endpoint() const { return ReaderEndpoint(endpoint); }
  absl::StatusOr<std::shared_ptr<Daemon>> Connect() const {
    return connect(Endpoint());
  }
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMAND_CONTEXT_H_
