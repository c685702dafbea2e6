#include "fit/models/standing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace wavetune {
namespace {

using ::testing::ElementsAre;

// Microseconds at one problem of one candidate.
struct Seen {
  int64_t m;
  double latency_us;
  double weight = 1;
};

constexpr SegmentPlace kFirstWave = {.row_regime = 0, .wave_regime = 0};

// Candidates of one macro configuration, of 100 tiles per wave; m is the tiles.
class StandingTest : public ::testing::Test {
 protected:
  StandingTest() {
    compiled_.tiles_per_wave = 100;
    state_.axes.row_regimes = {{.max_rows = 1 << 20}};
    state_.axes.max_waves = {1, 1 << 20};
  }

  void Measured(const std::vector<Seen>& seen, int macro_class = 0) {
    CandidateState& candidate = state_.candidates.emplace_back();
    candidate.candidate = &compiled_;
    candidate.macro_class = macro_class;
    for (const Seen& s : seen) {
      candidate.observations.push_back({.problem = {.extents = {s.m}},
                                        .at = {.tiles = s.m},
                                        .latency_us = s.latency_us,
                                        .weight = s.weight});
    }
  }

  Candidate compiled_;
  SpecialisationState state_;
};

std::vector<double> Excess(const std::vector<Standing>& standing) {
  std::vector<double> excess;
  for (const Standing& s : standing) excess.push_back(s.excess);
  return excess;
}

TEST_F(StandingTest, WhoTookLessAtTheSameProblemsStandsBetter) {
  Measured({{1, 10}, {2, 22}});
  Measured({{1, 9}, {2, 18}});
  const std::vector<Standing> standing = MeasuredStanding(state_, kFirstWave);
  EXPECT_LT(standing[1].excess, standing[0].excess);
  EXPECT_DOUBLE_EQ(standing[1].excess, (9 / 9.5 - 1 + 18. / 20 - 1) / 2);
  EXPECT_EQ(standing[1].problems, 2);
}

TEST_F(StandingTest, ProblemsOfOneAloneSayNothing) {
  Measured({{1, 10}, {3, 1000}});
  Measured({{1, 10}, {2, 1}});
  EXPECT_THAT(Excess(MeasuredStanding(state_, kFirstWave)), ElementsAre(0, 0));
}

TEST_F(StandingTest, OtherMacroConfigurationsAreNotCompared) {
  Measured({{1, 10}});
  Measured({{1, 5}}, /*macro_class=*/1);
  const std::vector<Standing> standing = MeasuredStanding(state_, kFirstWave);
  EXPECT_THAT(Excess(standing), ElementsAre(0, 0));
  EXPECT_EQ(standing[1].problems, 0);
}

TEST_F(StandingTest, OtherRegimesAreNotMixedIn) {
  Measured({{1, 10}, {200, 30}});
  Measured({{1, 10}, {200, 20}});
  EXPECT_THAT(Excess(MeasuredStanding(state_, kFirstWave)), ElementsAre(0, 0));
  const std::vector<Standing> beyond =
      MeasuredStanding(state_, {.row_regime = 0, .wave_regime = 1});
  EXPECT_LT(beyond[1].excess, beyond[0].excess);
}

TEST_F(StandingTest, DoubtedMeasurementsCountLess) {
  Measured({{1, 10, 0.1}, {2, 9}});
  Measured({{1, 20, 0.1}, {2, 10}});
  const Standing doubted = MeasuredStanding(state_, kFirstWave)[0];
  EXPECT_DOUBLE_EQ(doubted.problems, 1.1);
  for (CandidateState& candidate : state_.candidates) {
    candidate.observations[0].weight = 1;
  }
  EXPECT_GT(doubted.excess, MeasuredStanding(state_, kFirstWave)[0].excess);
}

TEST(FastestByStandingTest, WithoutMeasurementsPredictionsDecide) {
  EXPECT_EQ(FastestByStanding({10, 9, 9}, {{}, {}, {}}), 1u);
  EXPECT_EQ(FastestByStanding({10}, {{.excess = 0.1, .problems = 3}}), 0u);
}

TEST(FastestByStandingTest, TheMoreProblemsTheLessPredictionsCount) {
  // Predicted 4 % faster, measured 4 % slower.
  const auto fastest = [](double problems) {
    return FastestByStanding({1, 1.04},
                             {{.excess = 0.02, .problems = problems},
                              {.excess = -0.02, .problems = problems}});
  };
  EXPECT_EQ(fastest(1), 0u);
  EXPECT_EQ(fastest(4), 1u);
}

}  // namespace
}  // namespace wavetune
