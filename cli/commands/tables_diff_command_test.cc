// wavetune tables diff, of files and of a fake daemon's tables.
#include <fstream>
#include <string>

#include "cli/commands/daemon_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TablesDiffCommandTest : public DaemonCommandFixture {
 protected:
  TablesDiffCommandTest() {
    AddGemm();
    daemon_->kernels.mutable_kernels(0)->mutable_spec()->set_name("gemm");
  }

  static std::string Save(const std::string& name, const Table& table) {
    std::string path = ::testing::TempDir() + "diff_" + name + ".table";
    std::ofstream(path, std::ios::binary) << *EncodeTable(table);
    return path;
  }
  // A table whose first row, which wins else, takes twice as long.
  static Table Slower() {
    Table table = wavetune::testing::TwoGroupTable();
    for (GroupModel& model : table.sub_tables[0].groups[0].models) {
      for (WaveSegment& segment : model.segments)
        segment.coefficients.delta *= 2;
    }
    return table;
  }
  int Diff(const std::string& before, const std::string& after,
           const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"tables", "diff", before, after};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  const std::string two_groups_ =
      Save("two_groups", wavetune::testing::TwoGroupTable());
};

TEST_F(TablesDiffCommandTest, NothingDiffersFromItself) {
  EXPECT_EQ(Diff(two_groups_, two_groups_), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\n0 of "));
}

TEST_F(TablesDiffCommandTest, NamesWhatIsDecidedOtherwise) {
  const std::string slower = Save("slower", Slower());
  EXPECT_EQ(Diff(two_groups_, slower, {"--limit", "2"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("representative problems are decided otherwise"),
                    HasSubstr("BLOCK=64"), HasSubstr("BLOCK=128"),
                    HasSubstr("more: --limit shows them")));
  EXPECT_EQ(Diff(two_groups_, slower, {"--json"}), kExitOk);
  const Json first = Output()["differing"][0];
  EXPECT_GT(Output()["problems"], 40);
  EXPECT_EQ(first["after"]["BLOCK"], 128);
  EXPECT_NE(first["before"]["BLOCK"], 128);
}

TEST_F(TablesDiffCommandTest, NamesWhatOnlyOnePortfolioHas) {
  Table smaller = wavetune::testing::TwoGroupTable();
  smaller.sub_tables[0].portfolio[2].configuration = {64, 8};
  EXPECT_EQ(Diff(two_groups_, Save("smaller", smaller)), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("only in before  BLOCK=64 STAGES=4"),
                    HasSubstr("only in after   BLOCK=64 STAGES=8")));
}

TEST_F(TablesDiffCommandTest, RefusesWhatCannotBeCompared) {
  Table other = wavetune::testing::TwoGroupTable();
  other.kernel = "gelu";
  EXPECT_EQ(Diff(two_groups_, Save("other", other)), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("tables of two kernels: gemm and gelu"));
  Table edited = wavetune::testing::TwoGroupTable();
  edited.parameters[1] = "WARPS";
  EXPECT_EQ(Diff(two_groups_, Save("edited", edited)), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("other parameters"));
  daemon_->kernels.clear_kernels();
  EXPECT_EQ(Diff(two_groups_, two_groups_), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("the daemon has no kernel"));
}

}  // namespace
}  // namespace wavetune::cli
