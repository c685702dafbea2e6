#include "formats/workload/token_counts.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TokenLadderTest, CountsArePowersOfTwoAndBetweenThem) {
  EXPECT_THAT(TokenLadder(TokenCounts::kProfiled, 300),
              ElementsAre(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
                          192, 256, 300));
  EXPECT_THAT(TokenLadder(TokenCounts::kJudged, 300),
              ElementsAre(5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224));
  EXPECT_THAT(TokenLadder(TokenCounts::kProfiled, 1), ElementsAre(1));
  EXPECT_THAT(TokenLadder(TokenCounts::kProfiled, 7),
              ElementsAre(1, 2, 3, 4, 6));
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

}  // namespace
}  // namespace wavetune
