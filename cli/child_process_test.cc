#include "cli/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

TEST(ChildProcessTest, ReturnsTheExitCode) {
  const auto child = ChildProcess::Start({"sh", "-c", "exit 7"}, {});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ((*child)->Wait().value(), 7);
  EXPECT_EQ((*child)->Wait().value(), 7);
}

TEST(ChildProcessTest, StopsWhatStillRuns) {
  auto child = ChildProcess::Start({"sleep", "600"}, {.own_group = true});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_FALSE((*child)->Poll().has_value());
  (*child)->Stop();
  EXPECT_EQ((*child)->Poll(), 128 + 15);
}

TEST(ChildProcessTest, WritesToItsLog) {
  wavetune::testing::TemporaryFolder folder;
  const std::string log = folder.path() + "/log";
  const auto child = ChildProcess::Start({"sh", "-c", "echo out; echo err >&2"},
                                         {.log_path = log});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ((*child)->Wait().value(), 0);
  std::ifstream file(log);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "out\nerr\n");
}

TEST(ChildProcessTest, KeepsItsOutputApartFromItsLog) {
  wavetune::testing::TemporaryFolder folder;
  const std::string output = folder.path() + "/output";
  const auto child = ChildProcess::Start(
      {"sh", "-c", "echo out; echo err >&2"},
      {.log_path = folder.path() + "/log", .output_path = output});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ((*child)->Wait().value(), 0);
  std::ifstream file(output);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "out\n");
}

TEST(ChildProcessTest, AChildsInputEndsWithWhoStartedIt) {
  // `cat` ends where its input does: not before.
  auto child = ChildProcess::Start({"cat"}, {.ends_with_us = true});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_FALSE((*child)->Poll().has_value());
  // A grandchild's parent is killed: the grandchild ends by itself.
  wavetune::testing::TemporaryFolder folder;
  const pid_t parent = fork();
  if (parent == 0) {
    auto grandchild = ChildProcess::Start(
        {"sh", "-c", "cat; echo ended > " + folder.path() + "/ended"},
        {.own_group = true, .ends_with_us = true});
    std::ofstream(folder.path() + "/started") << grandchild.ok();
    for (;;) pause();
  }
  const auto appears = [&](const std::string& name) {
    for (int i = 0; i < 6000; ++i) {
      if (std::filesystem::exists(folder.path() + "/" + name)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  };
  EXPECT_TRUE(appears("started"));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(appears("ended"));
}

TEST(ChildProcessTest, SaysWhichProgramIsMissing) {
  const auto child = ChildProcess::Start({"wavetune-no-such-program"}, {});
  EXPECT_TRUE(absl::IsNotFound(child.status())) << child.status();
  EXPECT_THAT(std::string(child.status().message()),
              HasSubstr("wavetune-no-such-program"));
}

}  // namespace
}  // namespace wavetune::cli
