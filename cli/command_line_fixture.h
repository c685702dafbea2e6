// CommandLineFixture: runs command lines on a fake daemon and keeps what they
// print. For tests.
#ifndef WAVETUNE_CLI_COMMAND_LINE_FIXTURE_H_
#define WAVETUNE_CLI_COMMAND_LINE_FIXTURE_H_

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/fake_daemon.h"
#include "cli/json.h"
#include "gtest/gtest.h"

namespace wavetune::cli {

class CommandLineFixture : public ::testing::Test {
 protected:
  // Prints to out_ and err_, which lose what they had.
  CommandContext Context() {
    out_.str("");
    err_.str("");
    CommandContext context;
    context.out = &out_output_;
    context.err = &err_output_;
    context.connect = [this](const std::string& endpoint) {
      endpoint_ = endpoint;
      return absl::StatusOr<std::shared_ptr<Daemon>>(daemon_);
    };
    return context;
  }

  int Run(const std::vector<std::string>& arguments) {
    CommandContext context = Context();
    return RunCommandLine(arguments, context);
  }

  // The output of --json.
  Json Output() const { return Json::parse(out_.str()); }

  std::shared_ptr<FakeDaemon> daemon_ = std::make_shared<FakeDaemon>();
  std::string endpoint_;  // That the last command connected to.
  std::ostringstream out_;
  std::ostringstream err_;
  cli::Output out_output_{&out_};
  cli::Output err_output_{&err_};
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMAND_LINE_FIXTURE_H_
