// Exit codes and endpoints of the command line.
#include "cli/command_line.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command_line_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

class CommandLineTest : public CommandLineFixture {};

TEST_F(CommandLineTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(Run({}), kExitUsage);
  EXPECT_EQ(Run({"nonsense"}), kExitUsage);
  EXPECT_EQ(Run({"jobs"}), kExitUsage);
  EXPECT_EQ(Run({"jobs", "show"}), kExitUsage);
  EXPECT_EQ(Run({"jobs", "show", "x"}), kExitUsage);
  EXPECT_EQ(Run({"reprofile", "--budget", "-1"}), kExitUsage);
  EXPECT_EQ(Run({"reprofile", "--fresh", "--refit-only"}), kExitUsage);
  EXPECT_EQ(Run({"status", "--jsn"}), kExitUsage);
  // Only a daemon that bench starts takes these.
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "x", "--budget", "9"}),
            kExitUsage);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "x", "--kernels-dir", "y"}),
            kExitUsage);
}

TEST_F(CommandLineTest, AnUnreachableDaemonIsExitCodeThree) {
  daemon_->error = absl::UnavailableError("cannot reach wavetuned at unix:/x");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"devices"},
                                             {"kernels", "list"},
                                             {"jobs", "list"},
                                             {"tables", "list"},
                                             {"reprofile"}}) {
    EXPECT_EQ(Run(command), kExitUnreachable) << command[0];
    EXPECT_THAT(err_.str(), HasSubstr("cannot reach wavetuned"));
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(CommandLineTest, OtherErrorsAreExitCodeOne) {
  EXPECT_EQ(Run({"jobs", "show", "7"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no job 7"));
}

TEST_F(CommandLineTest, ResultsIntoAFullDiskAreExitCodeOne) {
  std::ofstream full("/dev/full");
  if (!full.is_open()) GTEST_SKIP() << "no /dev/full";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"status"}, {"jobs", "list", "--json"}, {"--help"}}) {
    full.clear();
    CommandContext context = Context();
    context.out = &full;
    EXPECT_EQ(RunCommandLine(command, context), kExitFailed) << command[0];
    EXPECT_THAT(err_.str(), HasSubstr("the output could not be written"));
  }
}

// Comparisons let not-a-number through.
TEST_F(CommandLineTest, NumbersThatAreNoneAreWrongUsage) {
  for (const std::string number : {"nan", "inf", "1e300", "-1", "x"}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{
             {"reprofile", "--budget"},
             {"reprofile", "--samples-per-candidate"},
             {"reprofile", "--portfolio"},
             {"jobs", "list", "--limit"},
             {"kernels", "compile", "x", "--sample"},
             {"bench", "x", "--shapes", "y", "--leaders"},
             {"bench", "x", "--shapes", "y", "--rounds"},
             {"evaluate", "--trace", "x", "--portfolio"}}) {
      std::vector<std::string> arguments = command;
      arguments.back() += "=" + number;
      EXPECT_EQ(Run(arguments), kExitUsage) << arguments.back();
      EXPECT_THAT(err_.str(), HasSubstr("give ")) << arguments.back();
    }
  }
}

TEST_F(CommandLineTest, TakesTheEndpointBeforeOrAfterTheCommand) {
  Run({"status", "--endpoint", "/a/reader.sock"});
  EXPECT_EQ(endpoint_, "unix:/a/reader.sock");
  Run({"--endpoint", "/b/reader.sock", "status"});
  EXPECT_EQ(endpoint_, "unix:/b/reader.sock");
  setenv("WAVETUNE_ENDPOINT", "/c/reader.sock", 1);
  Run({"status"});
  unsetenv("WAVETUNE_ENDPOINT");
  EXPECT_EQ(endpoint_, "unix:/c/reader.sock");
}

}  // namespace
}  // namespace wavetune::cli
