#include "server/jobs/held_out_best.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(HeldOutFractionTest, AChoiceThatIsTheBestOfEveryRoundIsAtExactlyOne) {
  EXPECT_EQ(HeldOutFraction({{10, 11, 10}, {12, 13, 12}}, 0), 1);
}

TEST(HeldOutFractionTest, ASlowerChoiceIsComparedRoundByRound) {
  EXPECT_DOUBLE_EQ(HeldOutFraction({{8, 8, 8}, {10, 10, 16}}, 1),
                   (0.8 + 0.8 + 0.5) / 3);
}

// Both are as fast; the second was lucky once, in the round that it may not be
// picked from.
TEST(HeldOutFractionTest, LuckInTheJudgedRoundPicksNobody) {
  EXPECT_EQ(HeldOutFraction({{10, 10, 10}, {5, 10, 10}}, 0), 1);
}

// The second is picked for its luck in the first two rounds and judged in the
// third.
TEST(HeldOutFractionTest, AChoiceCanBeFasterThanAPick) {
  EXPECT_DOUBLE_EQ(HeldOutFraction({{10, 10, 10}, {9, 9, 12}}, 0),
                   (1 + 1 + 1.2) / 3);
}

TEST(HeldOutFractionTest, ARivalThatFailedInARoundIsLeftOut) {
  EXPECT_EQ(HeldOutFraction({{10, 10, 10}, {5, 0, 5}, {0, 0, 0}}, 0), 1);
}

// It would else be compared with itself alone.
TEST(HeldOutFractionTest, AChoiceThatFailedInARoundIsNotJudged) {
  EXPECT_EQ(HeldOutFraction({{8, 8, 8, 8}, {10, 10, 0, 10}}, 1), 0);
}

TEST(HeldOutFractionTest, TwoRoundsAreTooFew) {
  EXPECT_EQ(HeldOutFraction({{10, 10}, {5, 5}}, 0), 0);
  EXPECT_EQ(HeldOutFraction({{}}, 0), 0);
}

}  // namespace
}  // namespace wavetune
