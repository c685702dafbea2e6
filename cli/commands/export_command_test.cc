// wavetune kernels export on a fake daemon: what the agent is asked for.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/fake_daemon.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKernel[] = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";

class ExportCommandTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"kernels", "export"});
    return RunCommand(arguments);
  }

  int RunCommand(const std::vector<std::string>& arguments) {
    CommandContext context;
    context.out = &out_output_;
    context.err = &err_output_;
    context.connect =
        [this](const std::string&) -> absl::StatusOr<std::shared_ptr<Daemon>> {
      if (!connected_.ok()) return connected_;
      return daemon_;
    };
    return RunCommandLine(arguments, context);
  }

  std::shared_ptr<FakeDaemon> daemon_ = std::make_shared<FakeDaemon>();
  absl::Status connected_;
  testing::TemporaryFolder folder_;
  std::ostringstream out_;
  std::ostringstream err_;
  Output out_output_{&out_};
  Output err_output_{&err_};
};

TEST_F(ExportCommandTest, SaysHowToGetATableWhereThereIsNone) {
  EXPECT_EQ(Run({kKernel, "--out", folder_.path() + "/out"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("there is no table to export"));
  EXPECT_THAT(err_.str(), HasSubstr("wavetune reprofile --kernel gemm_f32"));
}

TEST_F(ExportCommandTest, SaysThatTheDaemonIsDown) {
  connected_ = absl::UnavailableError("no daemon at unix:/x");
  EXPECT_EQ(Run({kKernel, "--out", folder_.path() + "/out"}), kExitUnreachable);
}

TEST_F(ExportCommandTest, ATableFileAndADigestAreTwoTables) {
  EXPECT_EQ(Run({kKernel, "--out", "out", "--table", "f", "--digest",
                 std::string(64, 'a')}),
            kExitUsage);
}

TEST_F(ExportCommandTest, TheModulesHelpOfExportsIsNotRepeated) {
  const std::string program = folder_.path() + "/python";
  const auto help = [&](const std::string& code) {
    std::ofstream(program) << "#!/bin/sh\nexit " << code << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    out_.str("");
    EXPECT_EQ(RunCommand({"export", "--help", "--python", program}), kExitOk);
    return out_.str();
  };
  EXPECT_THAT(help("0"), HasSubstr("--python PYTHON"));
  EXPECT_THAT(help("0"), Not(HasSubstr("Usage")));
  EXPECT_THAT(help("1"), HasSubstr("Usage: export [OPTIONS]"));
}

TEST_F(ExportCommandTest, NeedsAFolderToWriteTo) {
  EXPECT_EQ(Run({kKernel}), kExitUsage);
}

TEST_F(ExportCommandTest, RefusesADamagedPayload) {
  const FetchedTable table = testing::Serve(testing::TwoGroupTable());
  v1::GetTableResponse response;
  *response.mutable_info() = table.info;
  response.set_payload(table.payload + "x");
  daemon_->payloads = {response};
  EXPECT_EQ(Run({kKernel, "--out", "out", "--digest", table.info.digest()}),
            kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("does not have its digest"));
}

TEST_F(ExportCommandTest, ATableIsSavedAsItsPayload) {
  const FetchedTable table = testing::Serve(testing::TwoGroupTable());
  v1::GetTableResponse response;
  *response.mutable_info() = table.info;
  response.set_payload(table.payload);
  daemon_->payloads = {response};
  const std::string path = folder_.path() + "/gemm.table";
  EXPECT_EQ(RunCommand({"tables", "save", "gemm", "--out", path}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(table.info.digest()));
  std::ifstream stream(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}),
            table.payload);
}

}  // namespace
}  // namespace wavetune::cli
