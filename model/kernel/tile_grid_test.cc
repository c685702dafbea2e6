#include "model/kernel/tile_grid.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GridAxis Axis(int64_t divisor, int64_t max = 1 << 20) {
  return {.divisor = divisor, .min = 1, .max = max};
}

TEST(GridAxisTest, ConvertsBetweenExtentsAndTiles) {
  const GridAxis axis = Axis(16, 100);
  EXPECT_EQ(axis.Tiles(1), 1);
  EXPECT_EQ(axis.Tiles(17), 2);
  EXPECT_EQ(axis.SmallestExtent(2), 17);
  EXPECT_EQ(axis.LargestExtent(2), 32);
  EXPECT_EQ(axis.LargestExtent(7), 100);
  EXPECT_EQ(axis.SmallestExtent(8), 0);
  EXPECT_EQ(axis.Reach(7), 7);
  EXPECT_EQ(axis.Reach(8), 0);
}

TEST(GridAxisTest, SkipsCountsThatNoExtentGives) {
  const GridAxis axis{.coefficient = 3, .divisor = 2, .min = 1, .max = 100};
  // ceil(3 x / 2) is 2, 3, 5, 6, 8, ...
  EXPECT_EQ(axis.Reach(1), 2);
  EXPECT_EQ(axis.Reach(4), 5);
  EXPECT_EQ(axis.Reach(7), 8);
}

TEST(GridAxisTest, CountsWhatIsAddedToAndMultipliedWithTheQuotient) {
  GridAxis axis = Axis(16, 100);
  axis.factor = 3;
  axis.offset = 5;
  EXPECT_FALSE(axis.IsQuotient());
  EXPECT_EQ(axis.Tiles(17), 11);
  EXPECT_EQ(axis.SmallestExtent(11), 17);
  EXPECT_EQ(axis.SmallestExtent(9), 17);
  EXPECT_EQ(axis.SmallestExtent(1), 1);
  EXPECT_EQ(axis.LargestExtent(13), 32);
  EXPECT_EQ(axis.LargestExtent(7), 0);
  EXPECT_EQ(axis.Reach(1), 8);
  EXPECT_EQ(axis.Reach(9), 11);
}

TEST(GridAxisTest, SearchesTilesThatAreNoQuotient) {
  GridAxis axis = Axis(1, 100);
  axis.tiles_of = [](int64_t extent) { return extent * extent; };
  EXPECT_EQ(axis.SmallestExtent(10), 4);
  EXPECT_EQ(axis.LargestExtent(10), 3);
  EXPECT_EQ(axis.Reach(10), 16);
  EXPECT_EQ(axis.Reach(10001), 0);
  EXPECT_EQ(axis.LargestExtent(1 << 20), 100);
}

TEST(GridAxisTest, ElementsHaveAboutTheTilesThatTheyShould) {
  GridAxis axis = Axis(16);
  axis.repeated = true;
  axis.base = 2;
  axis.element_tiles = 10;
  EXPECT_THAT(axis.Elements(32), ElementsAre(10, 10, 10));
  EXPECT_EQ(axis.Reach(32), 32);
}

TEST(GridAxisTest, StartsAtTheSmallestExtent) {
  const GridAxis axis{.divisor = 4, .min = 10, .max = 100};
  EXPECT_EQ(axis.Reach(1), 3);
  EXPECT_EQ(axis.LargestExtent(2), 0);
}

TEST(GridAxisTest, SplitsARepeatedAxisIntoFewElements) {
  GridAxis axis = Axis(16);
  axis.repeated = true;
  EXPECT_THAT(axis.Elements(3), ElementsAre(1, 1, 1));
  EXPECT_THAT(axis.Elements(19), ElementsAre(3, 3, 3, 2, 2, 2, 2, 2));
  axis.max = 16;
  EXPECT_EQ(axis.Elements(19).size(), 19u);
  EXPECT_EQ(axis.Reach(19), 19);
  EXPECT_THAT(axis.Elements(1 << 20), IsEmpty());
}

TEST(SmallestGridTest, IsExactAndBalancedWherePossible) {
  EXPECT_THAT(SmallestGrid({Axis(1), Axis(1)}, 132), ElementsAre(11, 12));
  EXPECT_THAT(SmallestGrid({Axis(1), Axis(1)}, 131), ElementsAre(1, 131));
  EXPECT_THAT(SmallestGrid({Axis(16)}, 133), ElementsAre(133));
  const std::vector<int64_t> cube =
      SmallestGrid({Axis(1), Axis(1), Axis(1)}, 1000);
  EXPECT_THAT(cube, ElementsAre(10, 10, 10));
}

TEST(SmallestGridTest, KeepsToTheRanges) {
  EXPECT_THAT(SmallestGrid({Axis(1, 3), Axis(1)}, 132), ElementsAre(3, 44));
  EXPECT_THAT(SmallestGrid({Axis(1, 3), Axis(1, 43)}, 132), IsEmpty());
  EXPECT_EQ(ProductOf(SmallestGrid({Axis(1, 12), Axis(1, 12)}, 131)), 132);
  EXPECT_THAT(SmallestGrid({}, 1), IsEmpty());
}

TEST(SmallestGridTest, FindsTheSmallestProductThatExists) {
  for (int64_t a = 1; a <= 12; ++a) {
    for (int64_t b = 1; b <= 12; ++b) {
      for (int64_t tiles = 1; tiles <= 150; ++tiles) {
        int64_t least = 0;
        for (int64_t i = 1; i <= a; ++i) {
          for (int64_t j = 1; j <= b; ++j) {
            if (i * j >= tiles && (least == 0 || i * j < least)) least = i * j;
          }
        }
        const auto grid = SmallestGrid({Axis(1, a), Axis(1, b)}, tiles);
        ASSERT_EQ(grid.empty() ? 0 : ProductOf(grid), least)
            << a << " " << b << " " << tiles;
      }
    }
  }
}

TEST(SquareGridTest, IsNearlySquareAndBarelyLarger) {
  for (int64_t tiles = 1; tiles <= 5000; ++tiles) {
    const auto grid = SquareGrid({Axis(16), Axis(32)}, tiles);
    ASSERT_EQ(grid.size(), 2u);
    const int64_t product = ProductOf(grid);
    ASSERT_GE(product, tiles);
    ASSERT_LE(product, tiles + tiles / 20 + 2) << tiles;
    ASSERT_LE(std::max(grid[0], grid[1]), 2 * std::min(grid[0], grid[1]) + 1);
  }
}

TEST(SquareGridTest, ANarrowAxisMakesALongGrid) {
  EXPECT_THAT(SquareGrid({Axis(1, 2), Axis(1)}, 100), ElementsAre(2, 50));
}

TEST(SquareGridTest, HugeGridsAreFound) {
  const int64_t tiles = int64_t{1} << 36;
  EXPECT_EQ(ProductOf(SquareGrid({Axis(1), Axis(1)}, tiles)), tiles);
}

}  // namespace
}  // namespace wavetune
