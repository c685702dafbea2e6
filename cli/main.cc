// wavetune: the command line of the node's tuning service.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "base/library_log.h"
#include "base/log.h"
#include "cli/command_line.h"
#include "cli/daemon.h"
#include "cli/interrupt.h"

int main(int argc, char** argv) {
  wavetune::cli::CatchInterrupts();
  wavetune::SetLogLevel(wavetune::LogLevel::kInfo);
  wavetune::SetLogFormat(wavetune::LogFormat::kPlain);
  wavetune::RouteLibraryLogs();
  wavetune::cli::CommandContext context;
  wavetune::cli::Output out(&std::cout);
  wavetune::cli::Output err(&std::cerr);
  context.out = &out;
  context.err = &err;
  context.terminal = isatty(STDERR_FILENO) != 0;
  context.connect = [](const std::string& endpoint) {
    return wavetune::cli::ConnectGrpcDaemon(endpoint);
  };
  return wavetune::cli::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), context);
}
