// wavetune: the command line of the node's tuning service.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "client/cli/grpc_daemon.h"
#include "client/cli/interrupt.h"
#include "proto/convert/library_log.h"

int main(int argc, char** argv) {
  wavetune::cli::CatchInterrupts();
  wavetune::RouteLibraryLogs(
      [](wavetune::LibraryLogLevel, absl::string_view text) {
        std::cerr << "wavetune: " << text << "\n";
      });
  wavetune::cli::CommandContext context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.terminal = isatty(STDERR_FILENO) != 0;
  context.connect = [](const std::string& endpoint) {
    return wavetune::cli::ConnectGrpcDaemon(endpoint);
  };
  const int code = wavetune::cli::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), context);
  wavetune::FlushLibraryLogs();
  return code;
}
