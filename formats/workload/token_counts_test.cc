#include "formats/workload/token_counts.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Le;

int64_t Sum(const std::vector<int64_t>& slots) {
  return std::accumulate(slots.begin(), slots.end(), int64_t{0});
}

TEST(TokenLadderTest, CountsGrowByHalf) {
  EXPECT_THAT(
      TokenLadder(TokenCounts::kProfiled, 300),
      ElementsAre(1, 2, 3, 5, 8, 11, 17, 26, 38, 58, 86, 130, 195, 292, 300));
  EXPECT_THAT(TokenLadder(TokenCounts::kJudged, 300),
              ElementsAre(4, 6, 9, 14, 21, 31, 47, 71, 106, 159, 238));
  EXPECT_THAT(TokenLadder(TokenCounts::kProfiled, 1), ElementsAre(1));
  EXPECT_THAT(TokenLadder(TokenCounts::kJudged, 1), IsEmpty());
}

TEST(TokenLadderTest, WhatIsJudgedIsNeverProfiledWhateverTheLargest) {
  const std::vector<int64_t> judged =
      TokenLadder(TokenCounts::kJudged, int64_t{1} << 20);
  for (int64_t most = 1; most <= 20000; ++most) {
    for (const int64_t count : TokenLadder(TokenCounts::kProfiled, most)) {
      ASSERT_FALSE(std::binary_search(judged.begin(), judged.end(), count))
          << count << " up to " << most;
      ASSERT_LE(count, most);
    }
  }
}

TEST(RoutingTest, BalancedSlotsDifferByOneAndTheLargerStandFirst) {
  EXPECT_THAT(BalancedSlots(3, 2, 4, 4), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(BalancedSlots(3, 2, 4, 2), ElementsAre(2, 2));
  EXPECT_THAT(BalancedSlots(1, 2, 4, 4), ElementsAre(1, 1, 0, 0));
}

TEST(RoutingTest, SkewedSlotsAddUpAndNoExpertHasMoreThanAllTokens) {
  for (const int64_t tokens : {1, 7, 100, 16384}) {
    for (const int64_t top_k : {1, 2, 8}) {
      const std::vector<int64_t> slots = SkewedSlots(tokens, top_k, 8, 8);
      EXPECT_EQ(Sum(slots), tokens * top_k);
      EXPECT_THAT(slots, Each(Le(tokens)));
    }
  }
  EXPECT_THAT(SkewedSlots(1000, 2, 8, 8),
              ElementsAre(458, 324, 265, 229, 205, 186, 172, 161));
}

TEST(RoutingTest, LocalExpertsAreLikeAll) {
  EXPECT_THAT(SkewedSlots(1000, 2, 8, 2), ElementsAre(458, 205));
}

// As many slots as there are: nothing is left to skew.
TEST(RoutingTest, EveryExpertOfEveryTokenIsBalanced) {
  EXPECT_EQ(SkewedSlots(1 << 20, 1024, 1024, 1024),
            std::vector<int64_t>(1024, 1 << 20));
}

}  // namespace
}  // namespace wavetune
