#include "base/option_sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program with some options.
struct Program {
  Program() {
    app.add_option("--budget", budget, "Seconds")
        ->check(CLI::Range(1.0, 100.0))
        ->capture_default_str();
    app.add_option("--store", store, "Folder");
    app.add_option("--kernels-dir", dirs, "Folders")
        ->delimiter(':')
        ->capture_default_str();
    app.add_flag("--auto-refine,!--no-auto-refine", refine, "Refine")
        ->default_str("true");
    app.add_flag("--even-if-busy", busy, "Busy");
    app.add_flag("--end-with-stdin", ending, "End");
    sources.emplace(app, "daemon", "WAVETUNE_TEST_",
                    std::vector<std::string>{"end-with-stdin"});
  }

  // Returns what ApplyFile returns for the file `text`.
  absl::Status Run(std::vector<std::string> arguments,
                   const std::string& text) {
    const std::string path =
        ::testing::TempDir() + "/wavetune_option_sources.conf";
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0600);
    arguments.push_back("--config=" + path);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 wants it so.
    app.parse(arguments);
    return sources->ApplyFile();
  }
  // Returns the fault of the file `text`.
  std::string FaultOf(const std::string& text) {
    return std::string(Run({}, text).message());
  }

  double budget = 60;
  std::string store;
  std::vector<std::string> dirs = {"kernels"};
  bool refine = true;
  bool busy = false;
  bool ending = false;
  CLI::App app{"test"};
  std::optional<OptionSources> sources;
};

TEST(OptionSourcesTest, TheFileGivesWhatNobodyElseSays) {
  Program program;
  const absl::Status status = program.Run(
      {},
      "[agent]\nnice = 3\n[daemon]\nbudget = 5\nkernels-dir = /a:/b\n"
      "kernels-dir = /c\nauto-refine = false\neven-if-busy = true\n");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(program.budget, 5);
  EXPECT_THAT(program.dirs, ElementsAre("/a", "/b", "/c"));
  EXPECT_FALSE(program.refine);
  EXPECT_TRUE(program.busy);
}

TEST(OptionSourcesTest, TheCommandLineWinsThenTheEnvironmentThenTheFile) {
  ::setenv("WAVETUNE_TEST_STORE", "/environment", 1);
  ::setenv("WAVETUNE_TEST_BUDGET", "7", 1);
  Program program;
  const absl::Status status =
      program.Run({"--budget=8", "--no-auto-refine"},
                  "[daemon]\nbudget = 9\nstore = /file\nkernels-dir = /file\n"
                  "auto-refine = true\n");
  ::unsetenv("WAVETUNE_TEST_STORE");
  ::unsetenv("WAVETUNE_TEST_BUDGET");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(program.budget, 8);
  EXPECT_EQ(program.store, "/environment");
  EXPECT_THAT(program.dirs, ElementsAre("/file"));
  EXPECT_FALSE(program.refine);
  const std::string text = program.sources->Text();
  EXPECT_THAT(text, ::testing::ContainsRegex("budget = 8 +# --budget"));
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "store = /environment +# WAVETUNE_TEST_STORE"));
  EXPECT_THAT(text, ::testing::ContainsRegex("kernels-dir = /file +# .*.conf"));
  EXPECT_THAT(text,
              ::testing::ContainsRegex("even-if-busy = false +# default"));
}

TEST(OptionSourcesTest, WhatItPrintsIsAFileThatSaysTheSame) {
  Program first;
  ASSERT_TRUE(
      first
          .Run({"--kernels-dir=/x", "--kernels-dir=/y", "--auto-refine=false"},
               "[daemon]\nbudget = 5\n")
          .ok());
  Program second;
  const absl::Status status = second.Run({}, first.sources->Text());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(second.sources->Values(), first.sources->Values());
  EXPECT_THAT(second.dirs, ElementsAre("/x", "/y"));
}

TEST(OptionSourcesTest, AValueIsTheRestOfItsLineUpToAComment) {
  Program program;
  const absl::Status status = program.Run(
      {},
      "# a comment\n\n[agent]  # of another program\n\n[daemon]\t# ours\r\n"
      "  store=[::1]:9,a b#c  # where it is\r\nkernels-dir =\t# none\n"
      "#budget = 7\n[agent]\n[ daemon ]\nkernels-dir = \"/a b\"\n"
      "[agent]\nfoo.bar = [\n");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(program.store, "[::1]:9,a b#c");
  EXPECT_THAT(program.dirs, ElementsAre("\"/a b\""));
  EXPECT_EQ(program.budget, 60);
  EXPECT_EQ(Program().FaultOf(""), "");
  Program word;
  ASSERT_TRUE(word.Run({}, "[daemon]\nstore = true\n").ok());
  EXPECT_EQ(word.store, "true");
}

TEST(OptionSourcesTest, AKeyThatNobodyKnowsIsRefusedWithTheNearest) {
  EXPECT_THAT(
      Program().FaultOf("[daemon]\n\nbugdet = 5\n"),
      HasSubstr(".conf: line 3: [daemon] has no key bugdet; did you mean "
                "budget?"));
  EXPECT_THAT(Program().FaultOf("[daemon]\nno-auto-refine = true\n"),
              HasSubstr("did you mean auto-refine?"));
  for (const char* line : {"budget 60", "= 60", "x", "; a comment"}) {
    EXPECT_THAT(Program().FaultOf(std::string("[daemon]\n") + line + "\n"),
                HasSubstr("is neither a [section] nor key = value"));
  }
  for (const char* key : {"help", "config", "print-config", "end-with-stdin"}) {
    EXPECT_THAT(Program().FaultOf(std::string("[daemon]\n") + key + " = 1\n"),
                HasSubstr("has no key"));
  }
  // Nothing that a terminal would obey.
  EXPECT_THAT(Program().FaultOf("[daemon]\n\x1b[2J = 1\n"),
              ::testing::AllOf(HasSubstr("has no key"),
                               ::testing::Not(HasSubstr("\x1b"))));
}

TEST(OptionSourcesTest, ASectionThatNobodyKnowsIsRefusedWithTheNearest) {
  EXPECT_THAT(
      Program().FaultOf("[deamon]\n"),
      HasSubstr(".conf: line 1: [deamon] is no section; did you mean daemon?"));
  EXPECT_THAT(Program().FaultOf("budget = 60\n"),
              HasSubstr("budget stands before any section: put [daemon] or "
                        "[agent] above it"));
  // Also after the other program's: nothing of ours may go with it.
  for (const char* line : {"[daemon", "[daemon] x", "[]", "[default]",
                           "[daemon.a]", "[[daemon]]"}) {
    EXPECT_THAT(
        Program().FaultOf(std::string("[agent]\nnice = 3\n") + line +
                          "\nbudget = 500\n"),
        HasSubstr(std::string(".conf: line 3: ") + line + " is no section"));
  }
}

TEST(OptionSourcesTest, AValueThatItsOptionDoesNotTakeIsRefused) {
  EXPECT_THAT(Program().FaultOf("[daemon]\nbudget = 500\n"),
              HasSubstr(".conf: --budget: Value 500 not in range"));
  EXPECT_THAT(Program().FaultOf("[daemon]\nbudget = many\n"),
              HasSubstr(".conf: --budget: Value many not in range"));
  EXPECT_THAT(Program().FaultOf("[daemon]\neven-if-busy = perhaps\n"),
              HasSubstr("--even-if-busy"));
  EXPECT_THAT(Program().FaultOf("[daemon]\nbudget = 5\n[daemon]\nbudget=6\n"),
              HasSubstr(".conf: budget stands twice"));
}

TEST(OptionSourcesTest, AFileIsJudgedAlsoWhereItIsOverruled) {
  Program program;
  const absl::Status status =
      program.Run({"--budget=8"}, "[daemon]\nbudget = 500\n");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(program.budget, 8);
}

TEST(OptionSourcesTest, AFileThatOthersCanChangeIsNotRead) {
  Program program;
  ASSERT_TRUE(program.Run({}, "[daemon]\nbudget = 5\n").ok());
  ::chmod(program.sources->path().c_str(), 0666);
  const absl::Status status = program.sources->ApplyFile();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod go-w"));
}

TEST(OptionSourcesTest, WithoutAFileNothingIsRead) {
  Program program;
  program.app.parse(std::vector<std::string>{});
  EXPECT_TRUE(program.sources->ApplyFile().ok());
  EXPECT_EQ(program.budget, 60);
  EXPECT_EQ(program.sources->Values().at("kernels-dir"), "kernels");
  Program missing;
  missing.app.parse(std::vector<std::string>{"--config=/no/such/file"});
  EXPECT_TRUE(absl::IsNotFound(missing.sources->ApplyFile()));
}

TEST(ConfigChangeTest, TellsWhatIsInUseFromWhatTakesARestart) {
  const std::map<std::string, std::string> before = {
      {"budget", "60"}, {"log-level", "warning"}, {"store", "/a"}};
  std::map<std::string, std::string> now = before;
  EXPECT_EQ(TextOf(CompareConfig(before, now, {"log-level"}), now), "");
  now["store"] = "/b";
  now["log-level"] = "debug";
  const ConfigChange change =
      CompareConfig(before, now, {"budget", "log-level"});
  EXPECT_THAT(change.taken, ElementsAre("log-level"));
  EXPECT_THAT(change.for_restart, ElementsAre("store"));
  EXPECT_EQ(TextOf(change, now),
            "log-level is now debug; store takes a restart");
}

}  // namespace
}  // namespace wavetune
