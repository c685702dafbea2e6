// wavetune: the command line of the node's tuning service.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/environment_variable.h"
#include "base/library_log.h"
#include "base/log.h"
#include "cli/command_line.h"
#include "cli/daemon.h"
#include "cli/interrupt.h"

namespace {

constexpr int kWidest = 100;  // Longer lines are hard to read.

// Returns the width of help texts: COLUMNS, else the terminal's.
size_t HelpWidth() {
  int columns = 0;
  winsize size{};
  if (!absl::SimpleAtoi(wavetune::EnvironmentVariable("COLUMNS"), &columns) &&
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  return static_cast<size_t>(columns > 0 ? std::min(columns, kWidest)
                                         : kWidest);
}

}  // namespace

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
  context.width = HelpWidth();
  context.connect = [](const std::string& endpoint) {
    return wavetune::cli::ConnectGrpcDaemon(endpoint);
  };
  return wavetune::cli::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), context);
}
