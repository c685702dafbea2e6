#include "profiler_agent/cuda/other_processes.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

// An agent, 10, with two workers, and somebody else's 50.
const ProcessView kView = {.parents = {{10, 1}, {11, 10}, {12, 10}, {50, 1}},
                           .agent = 10,
                           .own_workers = 2};

TEST(OtherProcessesTest, OurOwnWorkersAreNotOthers) {
  EXPECT_EQ(OtherProcesses({11, 12}, kView), 0);
  EXPECT_EQ(OtherProcesses({11, 50}, kView), 1);
}

TEST(OtherProcessesTest, AProcessThatIsHiddenFromUsCounts) {
  EXPECT_EQ(OtherProcesses({11, 99, 50}, kView), 2);
}

TEST(OtherProcessesTest, WithoutWorkersOfOursAllAreOthers) {
  const ProcessView alone = {.parents = {{10, 1}}, .agent = 10};
  EXPECT_EQ(OtherProcesses({}, alone), 0);
  EXPECT_EQ(OtherProcesses({4001, 4002}, alone), 2);
}

TEST(OtherProcessesTest, IdsOfAnotherNamespaceAreUnknownUpToOurNumber) {
  EXPECT_EQ(OtherProcesses({}, kView), std::nullopt);
  EXPECT_EQ(OtherProcesses({4001, 4002}, kView), std::nullopt);
  EXPECT_EQ(OtherProcesses({4001, 4002, 4003}, kView), 1);
}

class ReadProcessesTest : public ::testing::Test {
 protected:
  ReadProcessesTest()
      : proc_(::testing::TempDir() + "/proc-" + std::to_string(getpid())) {}
  ~ReadProcessesTest() override { std::filesystem::remove_all(proc_); }

  void Add(const std::string& pid, const std::string& stat,
           const std::string& command_line) {
    std::filesystem::create_directories(proc_ + "/" + pid);
    std::ofstream(proc_ + "/" + pid + "/stat") << stat;
    std::ofstream(proc_ + "/" + pid + "/cmdline") << command_line;
  }

  std::string proc_;
};

TEST_F(ReadProcessesTest, CountsTheAgentsCudaWorkersButNotTheReader) {
  using namespace std::string_literals;
  Add("10", "10 (wavetune-agent) S 1 10", "wavetune-agent\0"s);
  Add("11", "11 (a) b) c) S 10 10", "/x\0worker\0--backend\0cuda\0"s);
  Add("12", "12 (w) S 10 10", "/x\0worker\0--backend\0cuda\0"s);
  Add("13", "13 (w) S 10 10", "/x\0worker\0--backend\0opencl\0"s);
  Add("14", "14 (w) S 1 10", "/x\0worker\0--backend\0cuda\0"s);
  Add("15", "nonsense", "");
  Add("self", "12 (w) S 10 10", "");
  const ProcessView view = ReadProcesses(proc_, 10, 12);
  EXPECT_EQ(view.own_workers, 1);
  EXPECT_EQ(view.parents.size(), 5u);
  EXPECT_EQ(view.parents.at(11), 10);
}

TEST_F(ReadProcessesTest, WhereNothingCanBeReadNothingIsKnown) {
  EXPECT_TRUE(ReadProcesses("/no/such", 10, 12).parents.empty());
}

}  // namespace
}  // namespace wavetune
