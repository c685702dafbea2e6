#include "model/decide/part_tiles.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

bool AreOf(const PartTiles& tiles, size_t group, std::vector<int64_t> extents) {
  return tiles.AreOf(group, extents.data());
}

// Tiles of 64 and 128 along m (the rows), n and k.
TEST(PartTilesTest, ColumnsAndLoopOfLessThanHalfATileArePartTiles) {
  const PartTiles tiles(testing::TwoGroupTable().sub_tables[0]);
  EXPECT_FALSE(AreOf(tiles, 0, {64, 32, 32}));
  EXPECT_TRUE(AreOf(tiles, 0, {64, 31, 32}));
  EXPECT_TRUE(AreOf(tiles, 0, {64, 32, 31}));
  EXPECT_TRUE(AreOf(tiles, 1, {64, 63, 64}));
  EXPECT_TRUE(AreOf(tiles, 1, {64, 64, 63}));
  EXPECT_FALSE(AreOf(tiles, 1, {64, 64, 64}));
}

// ReferenceGroup regimes tell them apart.
TEST(PartTilesTest, RowsMayFillAsLittleAsTheyLike) {
  const PartTiles tiles(testing::TwoGroupTable().sub_tables[0]);
  EXPECT_FALSE(AreOf(tiles, 1, {1, 64, 64}));
  EXPECT_EQ(tiles.EnoughOf(0), 1);
}

TEST(PartTilesTest, FromHalfOfTheLargestTileOnNoneIsPart) {
  const PartTiles tiles(testing::TwoGroupTable().sub_tables[0]);
  EXPECT_EQ(tiles.EnoughOf(1), 64);
  EXPECT_EQ(tiles.EnoughOf(2), 64);
}

TEST(PartTilesTest, ConstantsOfANumeratorCount) {
  SubTable sub = testing::TwoGroupTable().sub_tables[0];
  // ceil(4 * k / BLOCK)
  sub.mapping.iterations_per_tile =
      Expression::CeilDiv({Expression::Constant(4), Expression::OfDimension(2)},
                          {Expression::OfParameter(0)});
  const PartTiles tiles(sub);
  EXPECT_TRUE(AreOf(tiles, 0, {64, 64, 7}));
  EXPECT_FALSE(AreOf(tiles, 0, {64, 64, 8}));
}

}  // namespace
}  // namespace wavetune
