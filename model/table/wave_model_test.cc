#include "model/table/wave_model.h"

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
  EXPECT_EQ(
      PredictLatencyUs(WaveForm::kSum, 1, segment,
                       {.tiles = 16, .iterations = 8, .longest_loop = 12}),
      7 + 15 + 2 + 8);
}

// Two tiles per multiprocessor of four: waves of eight.
WaveSegment OverlappingSegment() {
  WaveSegment segment;
  segment.floor_us = 0.5;
  segment.step_tiles = 4;
  segment.coefficients = {.delta = 1,
                          .delta_w = 2,
                          .gamma = 0.5,
                          .gamma_w = 0.375,
                          .beta = 0.125,
                          .alpha = 0.0625};
  return segment;
}

double OverlappingUs(const WaveSegment& segment, int64_t tiles,
                     double row_share = 0) {
  return PredictLatencyUs(WaveForm::kOverlap, 8, segment,
                          {.tiles = tiles,
                           .iterations = 8,
                           .longest_loop = 16,
                           .row_share = row_share});
}

TEST(WaveModelTest, OfWhatOverlapsTheSlowerDecides) {
  WaveSegment segment = OverlappingSegment();
  // A tile's own pace: 0.5 * 16 = 8, against memory's 0.625 * 2.
  EXPECT_EQ(OverlappingUs(segment, 2), 1 + 8);
  // Two tiles on the busiest multiprocessor: 0.375 * 2 * 16 = 12, against 3.75.
  EXPECT_EQ(OverlappingUs(segment, 6), 1 + 12);
  segment.coefficients.alpha = 2;  // Memory takes (0.125 + 2 * 8) * 6.
  EXPECT_EQ(OverlappingUs(segment, 6), 1 + 96.75);
}

TEST(WaveModelTest, WhatTakesEquallyLongDoesNotOverlapFully) {
  WaveSegment segment = OverlappingSegment();
  segment.coefficients.beta = 0;
  segment.coefficients.alpha = 0.25;  // 0.25 * 8 * 6 = 12 of memory.
  EXPECT_EQ(OverlappingUs(segment, 6),
            1 + (kOverlapLonger * 12 + kOverlapShorter * 12));
}

TEST(WaveModelTest, LoadsGoWithTheRowShare) {
  WaveSegment segment = OverlappingSegment();
  segment.coefficients.alpha_row = 4;  // (0.125 + (0.0625 + 4 * 0.5) * 8) * 6.
  EXPECT_EQ(OverlappingUs(segment, 6, 0.5), 1 + 99.75);
  EXPECT_EQ(OverlappingUs(segment, 6, 0), 1 + 12);
}

TEST(WaveModelTest, ARegimeHasATypicalRowShare) {
  EXPECT_EQ(TypicalRowShare({.max_rows = 1, .max_fill = 1}), 0.5);
  EXPECT_EQ(TypicalRowShare({.max_rows = 1, .max_fill = 0.25}), 0.875);
  EXPECT_EQ(TypicalRowShare({.max_rows = 4, .max_fill = 1}), 0.25);
  EXPECT_EQ(TypicalRowShare({}), 0);
}

TEST(WaveModelTest, FullWavesComeBeforeTheLastOne) {
  const WaveSegment segment = OverlappingSegment();
  // 19 tiles: two waves of 2 + 12, then three tiles.
  EXPECT_EQ(OverlappingUs(segment, 19), 1 + 2 * (2 + 12) + 8);
}

TEST(WaveModelTest, NeverPredictsBelowTheFloor) {
  WaveSegment segment;
  segment.floor_us = 2;
  segment.coefficients.delta = -5;
  EXPECT_EQ(PredictLatencyUs(WaveForm::kSum, 1, segment, {}), 2);
  EXPECT_EQ(PredictLatencyUs(WaveForm::kOverlap, 1, segment, {}), 2);
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
