#include "cli/report/configuration_map.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const CompiledTable> Compiled(const Table& table) {
  return CompiledTable::Create(EncodeTable(table).value()).value();
}

class ConfigurationMapTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<ConfigurationMap>> Maps(
      const MapOptions& options) const {
    return ConfigurationMaps(*table_, 0, typical_, options);
  }
  std::string Refusal(const MapOptions& options) const {
    const absl::Status status = Maps(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const std::shared_ptr<const CompiledTable> table_ =
      Compiled(wavetune::testing::TwoGroupTable());
  std::vector<Problem> typical_ = {{.extents = {1, 512, 1024}},
                                   {.extents = {64, 512, 1024}},
                                   {.extents = {1000, 4096, 2048}}};
};

TEST_F(ConfigurationMapTest, TakesTheWidestDimensionsAndTheMostFrequentOthers) {
  const auto maps = Maps({});
  ASSERT_TRUE(maps.ok()) << maps.status();
  ASSERT_EQ(maps->size(), 2u);
  const ConfigurationMap& map = maps->front();
  EXPECT_EQ(map.x.dimension, "m");
  EXPECT_EQ(map.y.dimension, "n");
  EXPECT_EQ(map.fixed.extents[2], 1024);
  EXPECT_EQ(maps->back().fixed.extents[2], 2048);
  EXPECT_EQ(map.x.extents.front(), 1);
  EXPECT_EQ(map.x.extents.back(), 1000);
  EXPECT_EQ(map.cells.size(), map.x.extents.size() * map.y.extents.size());
  for (const int64_t n : map.y.extents) EXPECT_EQ(n % 64, 0) << n;
}

TEST_F(ConfigurationMapTest, CellsAreTheTablesDecisions) {
  const auto maps = Maps({.x = "n", .y = "m", .fixed = {{"k", "64"}}});
  ASSERT_TRUE(maps.ok()) << maps.status();
  ASSERT_EQ(maps->size(), 1u);
  const ConfigurationMap& map = maps->front();
  EXPECT_EQ(map.x.dimension, "n");
  const size_t width = map.x.extents.size();
  for (const size_t cell : {size_t{0}, width - 1, map.cells.size() - 1}) {
    const Problem problem{.extents = {map.y.extents[cell / width],
                                      map.x.extents[cell % width], 64}};
    const Decision decision = table_->Resolve(0, problem.View());
    EXPECT_EQ(map.cells[cell].candidate, decision.candidate);
    EXPECT_EQ(map.cells[cell].latency_us, decision.latency_us);
    EXPECT_EQ(map.cells[cell].extrapolated,
              decision.source == DecisionSource::kExtrapolated);
  }
}

TEST_F(ConfigurationMapTest, AKernelOfOneDimensionHasOneAxis) {
  const auto table = Compiled(wavetune::testing::TinyTable());
  const auto maps = ConfigurationMaps(
      *table, 0, {{.extents = {256}}, {.extents = {65536}}}, {});
  ASSERT_TRUE(maps.ok()) << maps.status();
  ASSERT_EQ(maps->size(), 1u);
  EXPECT_EQ(maps->front().y.dimension, "");
  EXPECT_EQ(maps->front().cells.size(), maps->front().x.extents.size());
}

TEST_F(ConfigurationMapTest, ARepeatedDimensionHasEqualElements) {
  Table table = wavetune::testing::TwoGroupTable();
  table.dimensions[0].repeated = true;
  SubTable& sub = table.sub_tables[0];
  sub.mapping.tiles = Expression::SumOver(0, sub.mapping.tiles);
  const auto grouped = Compiled(table);
  const auto maps = ConfigurationMaps(
      *grouped, 0, {{.extents = {0, 512, 64}, .repeated = {1, 64, 640}}},
      {.x = "m"});
  ASSERT_TRUE(maps.ok()) << maps.status();
  const ConfigurationMap& map = maps->front();
  EXPECT_TRUE(map.x.repeated);
  EXPECT_EQ(map.x.extents.back(), 640);
  EXPECT_EQ(map.fixed.repeated.size(), 3u);
  EXPECT_GE(map.cells.front().candidate, 0);
}

TEST_F(ConfigurationMapTest, WrongDimensionsAreNamed) {
  EXPECT_THAT(Refusal({.x = "q"}), HasSubstr("it has: m, n, k"));
  EXPECT_THAT(Refusal({.x = "m", .y = "m"}), HasSubstr("both axes"));
  EXPECT_THAT(Refusal({.x = "m", .y = "n", .fixed = {{"m", "4"}}}),
              HasSubstr("m is an axis"));
  EXPECT_THAT(Refusal({.x = "m", .y = "n", .fixed = {{"k", "much"}}}),
              HasSubstr("k"));
  EXPECT_THAT(Refusal({.x = "m", .y = "n", .fixed = {{"k", "1,2"}}}),
              HasSubstr("one extent"));
  EXPECT_THAT(Refusal({.fixed = {{"z", "4"}}}), HasSubstr("no dimension z"));
}

TEST_F(ConfigurationMapTest, WithoutTypicalProblemsThereIsNothingToSpan) {
  typical_.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(Maps({}).status()));
}

}  // namespace
}  // namespace wavetune::cli
