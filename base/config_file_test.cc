#include "base/config_file.h"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

const std::vector<std::string>& Sections() {
  static const std::vector<std::string> sections = {"daemon", "agent"};
  return sections;
}

std::string FaultOf(const std::string& text) {
  return std::string(ParseConfig(text, Sections()).status().message());
}

TEST(ConfigFileTest, ReadsEntriesOfEachSectionInTheirOrder) {
  const auto file = ParseConfig(
      "# a comment\n\n[daemon]\nbudget = 60\n  kernels-dir=/a\n"
      "kernels-dir = /b c\r\n[agent]\nnice = 5\n[daemon]\nstore = /s\n",
      Sections());
  ASSERT_TRUE(file.ok()) << file.status();
  const auto& daemon = file->sections.at("daemon");
  ASSERT_EQ(daemon.size(), 4u);
  EXPECT_EQ(daemon[0].key, "budget");
  EXPECT_EQ(daemon[0].value, "60");
  EXPECT_EQ(daemon[0].line, 4);
  EXPECT_EQ(daemon[1].value, "/a");
  EXPECT_EQ(daemon[2].value, "/b c");
  EXPECT_EQ(daemon[3].key, "store");
  EXPECT_EQ(file->sections.at("agent").size(), 1u);
}

TEST(ConfigFileTest, EndsAValueWhereACommentBeginsAfterASpace) {
  const auto file =
      ParseConfig("[daemon]\nstore = /a#b # where it is\nlog-level =\t# none\n",
                  Sections());
  ASSERT_TRUE(file.ok()) << file.status();
  const auto& entries = file->sections.at("daemon");
  ASSERT_EQ(entries.size(), 1u);  // One without a value counts as none.
  EXPECT_EQ(entries[0].value, "/a#b");
}

TEST(ConfigFileTest, AnEmptyFileSaysNothing) {
  const auto file = ParseConfig("", Sections());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->sections, Not(Contains(Key("daemon"))));
}

TEST(ConfigFileTest, NamesTheLineAndWhatWasMeant) {
  EXPECT_EQ(FaultOf("[deamon]\nx = 1\n"),
            "line 1: [deamon] is no section; did you mean daemon?");
  EXPECT_THAT(FaultOf("[daemon\n"), HasSubstr("is no section"));
  EXPECT_THAT(FaultOf("[daemon]\nbudget 60\n"),
              HasSubstr("line 2: \"budget 60\" is neither a [section] nor"));
  EXPECT_THAT(FaultOf("[daemon]\n= 60\n"), HasSubstr("is neither"));
  EXPECT_EQ(FaultOf("budget = 60\n"),
            "line 1: budget stands before any section: put [daemon] or [agent] "
            "above it");
}

TEST(ConfigFileTest, TellsOfEachFaultButOfTenAtMost) {
  EXPECT_THAT(FaultOf("[daemon]\nx\n[agent]\ny\n"),
              ::testing::AllOf(HasSubstr("line 2"), HasSubstr("line 4")));
  std::string many = "[daemon]\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&many, "nonsense\n");
  const std::string fault = FaultOf(many);
  EXPECT_THAT(fault, HasSubstr("and 990 more"));
  EXPECT_LT(fault.size(), 1000u);
}

TEST(ConfigFileTest, PrintsNothingThatATerminalWouldObey) {
  EXPECT_THAT(FaultOf("[daemon]\n\x1b[2J\n"), Not(HasSubstr("\x1b")));
}

TEST(ConfigFileTest, ReadsAFileThatNobodyElseCanChange) {
  const std::string path = ::testing::TempDir() + "/wavetune_config_file.conf";
  std::ofstream(path) << "[daemon]\nbudget = 5\n";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const auto file = ReadConfigFile(path, Sections());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->sections.at("daemon")[0].value, "5");
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const auto open = ReadConfigFile(path, Sections());
  EXPECT_TRUE(absl::IsPermissionDenied(open.status())) << open.status();
  EXPECT_THAT(std::string(open.status().message()), HasSubstr("chmod go-w"));
}

TEST(ConfigFileTest, SaysWhichFileIsWrong) {
  const std::string path = ::testing::TempDir() + "/wavetune_config_bad.conf";
  std::ofstream(path) << "[demon]\n";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(std::string(ReadConfigFile(path, Sections()).status().message()),
              HasSubstr(path));
  const auto missing = ReadConfigFile(path + ".not", Sections());
  EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
}

}  // namespace
}  // namespace wavetune
