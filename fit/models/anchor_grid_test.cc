#include "fit/models/anchor_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

TEST(AnchorGridTest, HasWaveEndsThePointsPastThemAndFractionsFirst) {
  const std::vector<int64_t> tiles = GridTileCounts(132, 132 * 20, {});
  EXPECT_EQ(tiles[0], 132);
  EXPECT_EQ(tiles[1], 133);
  EXPECT_EQ(tiles[2], 264);
  for (const int64_t g : {264 + 1, 3 * 132, 3 * 132 + 1, 528, 529, 8 * 132,
                          8 * 132 + 1, 66, 33, 16 * 132}) {
    EXPECT_THAT(tiles, Contains(g));
  }
  EXPECT_GE(tiles.size(), 30u);
  EXPECT_EQ(std::set<int64_t>(tiles.begin(), tiles.end()).size(), tiles.size());
}

TEST(AnchorGridTest, GoesNoFurtherThanAskedFor) {
  EXPECT_THAT(GridTileCounts(132, 200, {199, 5000}), Each(Le(200)));
  EXPECT_THAT(GridTileCounts(132, 200, {199, 5000}), Contains(199));
  EXPECT_THAT(GridTileCounts(132, 1, {}), ElementsAre(1));
}

TEST(AnchorGridTest, LoopsSpanTheRangeEndsFirst) {
  const std::vector<GridLoop> loops = GridLoops(4, 256);
  EXPECT_DOUBLE_EQ(loops[0].iterations, 4);
  EXPECT_DOUBLE_EQ(loops[1].iterations, 256);
  EXPECT_DOUBLE_EQ(loops[2].iterations, 32);
  EXPECT_EQ(loops[1].delay, 0u);
  EXPECT_GT(loops[2].delay, 0u);
  EXPECT_TRUE(std::is_sorted(
      loops.begin(), loops.end(),
      [](const GridLoop& a, const GridLoop& b) { return a.delay < b.delay; }));
}

}  // namespace
}  // namespace wavetune
