// The example of docs/rank-agreement.md with real processes: two nodes with
// daemons of their own and different tables, and a rank on each.
#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/table_node.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::testing {
namespace {

using ::testing::HasSubstr;

Table WithDelta(double delta) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

std::string SetOf(const Table& table) {
  return TableSetDigest({{"add", Sha256Hex(EncodeTable(table).value())}});
}

class RankAgreementTest : public NodeFixture {
 protected:
  // Both nodes serve a table of `add`.
  void StartNodes(const Table& first, const Table& second) {
    SeedStore(store_, {first});
    SeedStore(Path("store2"), {second});
    std::filesystem::create_directory(Path("node2"));
    std::filesystem::create_directory(Path("job"));
    StartDaemon();
    second_ = Program::Start(
        {Binary("wavetuned"), "--store", Path("store2"), "--socket-dir",
         Path("node2"), "--kernels-dir", Path("kernels")},
        {.log_path = Path("daemon2.log")});
    ASSERT_TRUE(WaitUntil(
        [&] { return std::filesystem::exists(Path("node2/reader.sock")); }));
  }

  std::unique_ptr<Program> StartRank(int rank) const {
    const std::string here =
        Path(rank == 0 ? "reader.sock" : "node2/reader.sock");
    const std::string there =
        Path(rank == 0 ? "node2/reader.sock" : "reader.sock");
    const std::string name = "rank" + std::to_string(rank);
    return Program::Start(
        {Binary("rank_agreement"), "add", std::to_string(rank), "2",
         Path("job"), "1000"},
        {.log_path = Path(name + ".err"),
         .out_path = Path(name),
         .environment = {{"WAVETUNE_ENDPOINT", here + "," + there},
                         {"WAVETUNE_CACHE_DIR", Path("cache-" + name)}}});
  }
  void RunRanks() {
    const std::vector<std::unique_ptr<Program>> ranks = [&] {
      std::vector<std::unique_ptr<Program>> started;
      for (int rank = 0; rank < 2; ++rank) started.push_back(StartRank(rank));
      return started;
    }();
    for (const auto& rank : ranks) {
      EXPECT_EQ(rank->Wait(std::chrono::seconds(100)), 0)
          << ReadText(Path("rank0.err")) << ReadText(Path("rank1.err"));
    }
  }

  std::unique_ptr<Program> second_;
};

TEST_F(RankAgreementTest, ARankWithAnotherTableLoadsRankZeros) {
  StartNodes(WithDelta(2), WithDelta(5));
  RunRanks();
  const std::string set = "set " + SetOf(WithDelta(2));
  EXPECT_EQ(ReadText(Path("rank0")),
            set + " agreed configuration 256 latency_us 3\n");
  EXPECT_EQ(ReadText(Path("rank1")),
            set + " loaded configuration 256 latency_us 3\n");
}

TEST_F(RankAgreementTest, RanksWithTheSameTableOnlyCompareTheDigest) {
  StartNodes(WithDelta(2), WithDelta(2));
  RunRanks();
  EXPECT_EQ(ReadText(Path("rank1")),
            "set " + SetOf(WithDelta(2)) +
                " agreed configuration 256 latency_us 3\n");
}

TEST_F(RankAgreementTest, ARankThatRefusesTheSetSaysWhy) {
  Table other = WithDelta(5);
  other.silicon_key = "backend=replay;mp=8";
  StartNodes(WithDelta(2), other);
  const auto rank0 = StartRank(0);
  const auto rank1 = StartRank(1);
  EXPECT_EQ(rank1->Wait(std::chrono::seconds(100)), 1);
  EXPECT_THAT(ReadText(Path("rank1.err")), HasSubstr("silicon"));
}

}  // namespace
}  // namespace wavetune::testing
