#include "fit/models/overlap_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavetune {
namespace {

constexpr int64_t kOverlapCapacity = 264;  // Two tiles for each of 132.
constexpr int64_t kOverlapMultiprocessors = 132;

// Memory delivers half as fast for a single row (class 0) as for several (2).
WaveCoefficients Truth(size_t memory_class) {
  return {.delta = 3.5,
          .delta_w = 0.5,
          .gamma = 0.24,
          .gamma_w = 0.16,
          .beta = 0.002,
          .alpha = memory_class == 0 ? 0.004 : 0.001,
          .alpha_row = memory_class == 0 ? 0.003 : 0.002};
}

OverlapEquation RowAt(int64_t tiles, double loop, size_t memory_class,
                      double row_share = 0) {
  OverlapEquation equation{
      .waves = LaunchWavesOf(tiles, kOverlapCapacity, kOverlapMultiprocessors),
      .loop = {loop, loop, row_share},
      .memory_class = memory_class};
  equation.latency_us =
      OverlapLatencyUs(Truth(memory_class), equation.waves, equation.loop);
  return equation;
}

std::vector<OverlapEquation> OverlapAnchors(
    const std::vector<size_t>& classes) {
  std::vector<OverlapEquation> equations;
  for (const size_t memory_class : classes) {
    for (const int64_t tiles : {8, 66, 132, 200, 264, 265, 528, 2112}) {
      for (const double loop : {16, 128}) {
        for (const double row_share : {0.0, 0.5}) {
          equations.push_back(RowAt(tiles, loop, memory_class, row_share));
        }
      }
    }
  }
  return equations;
}

double Predict(const std::array<WaveCoefficients, kMemoryClasses>& fitted,
               const OverlapEquation& equation) {
  return OverlapLatencyUs(fitted[equation.memory_class], equation.waves,
                          equation.loop);
}

TEST(OverlapFitTest, PredictsBetweenItsAnchorsWhateverDecidesThere) {
  const auto fitted = FitOverlap(OverlapAnchors({0, 2}));
  for (const int64_t tiles : {24, 48, 90, 133, 300, 700}) {
    for (const size_t memory_class : {size_t{0}, size_t{2}}) {
      for (const double row_share : {0.0, 0.25, 0.9}) {
        const OverlapEquation equation =
            RowAt(tiles, 50, memory_class, row_share);
        EXPECT_NEAR(Predict(fitted, equation) / equation.latency_us, 1, 0.02)
            << tiles << " tiles, class " << memory_class << ", row share "
            << row_share;
      }
    }
  }
}

TEST(OverlapFitTest, OneWrongAnchorMovesLittle) {
  std::vector<OverlapEquation> equations = OverlapAnchors({0, 2});
  equations[5].latency_us *= 4;
  const auto fitted = FitOverlap(equations);
  const OverlapEquation equation = RowAt(100, 50, 0);
  EXPECT_NEAR(Predict(fitted, equation) / equation.latency_us, 1, 0.03);
}

TEST(OverlapFitTest, AClassWithoutRowsTakesTheMemoryTermsOfTheNext) {
  const auto fitted = FitOverlap(OverlapAnchors({2}));
  EXPECT_EQ(fitted[0], fitted[2]);
  EXPECT_EQ(fitted[1], fitted[2]);
}

TEST(OverlapFitTest, FewTilesAndAnchorsOfAnotherClassSayHowFastATileIs) {
  // One anchor of a single row; its pace is known from the others.
  std::vector<OverlapEquation> equations = OverlapAnchors({2});
  equations.push_back(RowAt(264, 128, 0));
  const auto fitted = FitOverlap(equations);
  const OverlapEquation equation = RowAt(20, 64, 0);
  EXPECT_NEAR(Predict(fitted, equation) / equation.latency_us, 1, 0.05);
}

TEST(OverlapFitTest, WithoutRowsEverythingIsZero) {
  EXPECT_EQ(FitOverlap({})[1], WaveCoefficients());
}

}  // namespace
}  // namespace wavetune
