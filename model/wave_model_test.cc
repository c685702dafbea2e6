#include "model/wave_model.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(WaveModelTest, AddsUpTheTermsOfTheWaveForm) {
  WaveSegment segment;
  segment.floor_us = 0.5;
  segment.step_tiles = 6;
  segment.coefficients = {.delta = 1,
                          .delta_w = 2,
                          .gamma = 0.5,
                          .gamma_w = 0.25,
                          .beta = 0.125,
                          .alpha = 0.0625};
  // 16 tiles are 3 steps: (1 + 2*3) + (0.5 + 0.25*3)*12 + 0.125*16 +
  // 0.0625*16*8
  EXPECT_EQ(PredictLatencyUs(segment, 16, 8, 12), 7 + 15 + 2 + 8);
}

TEST(WaveModelTest, NeverPredictsBelowTheFloor) {
  WaveSegment segment;
  segment.floor_us = 2;
  segment.coefficients.delta = -5;
  EXPECT_EQ(PredictLatencyUs(segment, 1, 1, 1), 2);
}

TEST(WaveModelTest, IsExtrapolatedOutsideOfTheMeasuredRangeOnly) {
  WaveSegment segment;
  segment.min_wave = 2;
  segment.max_wave = 4;
  segment.min_iterations = 8;
  segment.max_iterations = 64;
  EXPECT_FALSE(IsExtrapolated(segment, 8, 2));
  EXPECT_FALSE(IsExtrapolated(segment, 64, 4));
  EXPECT_TRUE(IsExtrapolated(segment, 7.5, 2));
  EXPECT_TRUE(IsExtrapolated(segment, 64.5, 2));
  EXPECT_TRUE(IsExtrapolated(segment, 8, 1));
  EXPECT_TRUE(IsExtrapolated(segment, 8, 5));
}

TEST(WaveModelTest, TheFirstFittingRowRegimeIsTakenElseTheLast) {
  SubTable sub;
  sub.row_regimes = {{1, 0.5}, {1, 1}, {4, 1}};
  EXPECT_EQ(RowRegimeIndex(sub, 1, 0.5), 0);
  EXPECT_EQ(RowRegimeIndex(sub, 1, 0.75), 1);
  EXPECT_EQ(RowRegimeIndex(sub, 2, 0.5), 2);
  EXPECT_EQ(RowRegimeIndex(sub, 9, 0.5), 2);
}

TEST(WaveModelTest, TheLastWaveRegimeTakesEverything) {
  SubTable sub;
  sub.max_waves = {1, 4};
  EXPECT_EQ(WaveRegimeIndex(sub, 1), 0);
  EXPECT_EQ(WaveRegimeIndex(sub, 2), 1);
  EXPECT_EQ(WaveRegimeIndex(sub, 400), 1);
}

TEST(WaveModelTest, TheNearestLoopAnchorIsTakenTheLowerOfTwo) {
  SubTable sub;
  sub.loop_anchors = {8, 16, 64};
  EXPECT_EQ(LoopAnchorIndex(sub, 1), 0);
  EXPECT_EQ(LoopAnchorIndex(sub, 12), 0);
  EXPECT_EQ(LoopAnchorIndex(sub, 12.5), 1);
  EXPECT_EQ(LoopAnchorIndex(sub, 40), 1);
  EXPECT_EQ(LoopAnchorIndex(sub, 1e9), 2);
}

}  // namespace
}  // namespace wavetune
