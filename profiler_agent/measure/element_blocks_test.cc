#include "profiler_agent/measure/element_blocks.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using Kind = ElementBlocks::Kind;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSeed = 5;

std::vector<int64_t> Order(const std::vector<int64_t>& rows, int64_t block,
                           size_t elements, uint64_t seed = kSeed) {
  return BlockValues(Kind::kPaddedOrder, rows, block, elements, seed);
}

TEST(ElementBlocksTest, EachElementFillsWholeBlocks) {
  const std::vector<int64_t> order = Order({3, 0, 2}, 2, 6);
  EXPECT_EQ(order[3], 5);  // The number of rows: no row.
  std::vector<int64_t> rows = {order[0], order[1], order[2], order[4],
                               order[5]};
  std::sort(rows.begin(), rows.end());
  EXPECT_THAT(rows, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(BlockValues(Kind::kBlockElement, {3, 0, 2}, 2, 3, kSeed),
              ElementsAre(0, 0, 2));
  EXPECT_THAT(BlockValues(Kind::kPaddedTotal, {3, 0, 2}, 2, 1, kSeed),
              ElementsAre(6));
}

TEST(ElementBlocksTest, RowsOfAnElementAscendAndAreSpreadOverAll) {
  const std::vector<int64_t> order = Order({500, 500}, 500, 1000);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.begin() + 500));
  EXPECT_TRUE(std::is_sorted(order.begin() + 500, order.end()));
  const auto small = std::count_if(order.begin(), order.begin() + 500,
                                   [](int64_t row) { return row < 500; });
  EXPECT_GT(small, 200);
  EXPECT_LT(small, 300);
}

TEST(ElementBlocksTest, TheSameRowsInEveryBlockSizeAndOthersForOtherSeeds) {
  const auto of_first = [](int64_t block, uint64_t seed) {
    std::vector<int64_t> order = Order({40, 60}, block, 40, seed);
    return order;
  };
  EXPECT_EQ(of_first(16, kSeed), of_first(64, kSeed));
  EXPECT_NE(of_first(16, kSeed), of_first(16, kSeed + 1));
}

TEST(ElementBlocksTest, TheRestOfALongBufferPointsNowhere) {
  const std::vector<int64_t> order = Order({1}, 4, 12);
  EXPECT_EQ(order[0], 0);
  EXPECT_THAT(std::vector<int64_t>(order.begin() + 1, order.end()), Each(1));
  EXPECT_THAT(BlockValues(Kind::kBlockElement, {1}, 4, 3, kSeed),
              ElementsAre(0, -1, -1));
}

TEST(ElementBlocksTest, AShortBufferHasTheFirst) {
  EXPECT_THAT(Order({4, 4}, 4, 0), IsEmpty());
  const std::vector<int64_t> whole = Order({4, 4}, 4, 8);
  EXPECT_EQ(Order({4, 4}, 4, 3),
            std::vector<int64_t>(whole.begin(), whole.begin() + 3));
  EXPECT_THAT(BlockValues(Kind::kBlockElement, {4, 4}, 4, 1, kSeed),
              ElementsAre(0));
}

TEST(ElementBlocksTest, WithoutRowsThereAreNoBlocks) {
  EXPECT_THAT(Order({0, 0}, 16, 2), Each(0));
  EXPECT_THAT(BlockValues(Kind::kBlockElement, {0, 0}, 16, 2, kSeed), Each(-1));
  EXPECT_THAT(BlockValues(Kind::kPaddedTotal, {0, 0}, 16, 1, kSeed), Each(0));
}

}  // namespace
}  // namespace wavetune
