#include "fit/models/standing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace wavetune {
namespace {

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

TEST_F(StandingTest, WhoTookLessAtTheSameProblemsStandsBetter) {
  Measured({{1, 10}, {2, 22}});
  Measured({{1, 9}, {2, 18}});
  const std::vector<double> standing = MeasuredStanding(state_, kFirstWave);
  EXPECT_LT(standing[1], standing[0]);
  EXPECT_DOUBLE_EQ(standing[1], (9 / 9.5 - 1 + 18. / 20 - 1) / 4);
}

TEST_F(StandingTest, ProblemsOfOneAloneSayNothing) {
  Measured({{1, 10}, {3, 1000}});
  Measured({{1, 10}, {2, 1}});
  EXPECT_EQ(MeasuredStanding(state_, kFirstWave), (std::vector<double>{0, 0}));
}

TEST_F(StandingTest, OtherMacroConfigurationsAreNotCompared) {
  Measured({{1, 10}});
  Measured({{1, 5}}, /*macro_class=*/1);
  EXPECT_EQ(MeasuredStanding(state_, kFirstWave), (std::vector<double>{0, 0}));
}

TEST_F(StandingTest, OtherRegimesAreNotMixedIn) {
  Measured({{1, 10}, {200, 30}});
  Measured({{1, 10}, {200, 20}});
  EXPECT_EQ(MeasuredStanding(state_, kFirstWave), (std::vector<double>{0, 0}));
  const std::vector<double> beyond =
      MeasuredStanding(state_, {.row_regime = 0, .wave_regime = 1});
  EXPECT_LT(beyond[1], beyond[0]);
}

TEST_F(StandingTest, DoubtedMeasurementsCountLess) {
  Measured({{1, 10, 0.1}, {2, 9}});
  Measured({{1, 20, 0.1}, {2, 10}});
  const double doubted = MeasuredStanding(state_, kFirstWave)[0];
  for (CandidateState& candidate : state_.candidates) {
    candidate.observations[0].weight = 1;
  }
  EXPECT_GT(doubted, MeasuredStanding(state_, kFirstWave)[0]);
}

TEST(BestStandingTest, IsTheBestOfNearTiesAndTheFirstOfEquals) {
  EXPECT_EQ(BestStanding({10, 10.1, 10.2}, {0, -0.1, -0.2}, 0.015), 1u);
  EXPECT_EQ(BestStanding({10, 9, 9.01}, {-1, 0, 0}, 0.015), 1u);
  EXPECT_EQ(BestStanding({10}, {0}, 0.015), 0u);
}

}  // namespace
}  // namespace wavetune
