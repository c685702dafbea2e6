#include "fit/models/expected_regret.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(ExpectedRegretTest, IsZeroWhereTheSpreadsDoNotMeet) {
  EXPECT_EQ(ExpectedRegret({100, 0.05}, {111, 0.05}), 0);
}

TEST(ExpectedRegretTest, GrowsWithTheSpreadAndShrinksWithTheLead) {
  const double near = ExpectedRegret({100, 0.05}, {101, 0.05});
  EXPECT_GT(near, ExpectedRegret({100, 0.05}, {105, 0.05}));
  EXPECT_LT(near, ExpectedRegret({100, 0.10}, {101, 0.10}));
}

TEST(ExpectedRegretTest, IsTheLossWhereItIsCertain) {
  EXPECT_DOUBLE_EQ(ExpectedRegret({100, 0.01}, {80, 0.01}), 0.2);
  EXPECT_DOUBLE_EQ(ExpectedRegret({100, 0.05}, {100, 0.05}), 0.025);
}

}  // namespace
}  // namespace wavetune
