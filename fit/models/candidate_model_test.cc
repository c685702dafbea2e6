#include "fit/models/candidate_model.h"

#include <gtest/gtest.h>

#include "fit/models/row_regimes.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

const SegmentQuality& QualityAt(const SubTable& axes,
                                const CandidateModel& model,
                                const Coordinates& at) {
  const SegmentPlace place = PlaceAt(axes, model.tiles_per_wave, at);
  return model.quality[place.row_regime][place.wave_regime];
}

constexpr int64_t kTilesPerWave = 264;
constexpr int64_t kMultiprocessors = 132;

SubTable Axes() {
  SubTable axes;
  axes.row_regimes = ChooseRowRegimes(true, {});
  axes.max_waves = WaveRegimes();
  axes.loop_anchors = ChooseLoopAnchors({});
  return axes;
}

Coordinates At(int64_t tiles, int64_t loop, int64_t rows) {
  return {.tiles = tiles,
          .iterations = static_cast<double>(loop),
          .total_iterations = tiles * loop,
          .longest_loop = loop,
          .rows = rows};
}

// Steps of one tile per multiprocessor below a wave; a single row pays twice.
double TrueUs(const Coordinates& at) {
  const int64_t step =
      at.tiles <= kTilesPerWave ? kMultiprocessors : kTilesPerWave;
  const double s = static_cast<double>(Waves(at.tiles, step));
  return 4 + s * (1 + 0.4 * at.iterations) * (at.rows == 1 ? 2 : 1);
}

std::vector<Observation> Anchors(const std::vector<int64_t>& tiles) {
  std::vector<Observation> seen;
  for (const int64_t g : tiles) {
    for (const int64_t loop : {16, 128}) {
      for (const int64_t rows : {1, 16}) {
        const Coordinates at = At(g, loop, rows);
        seen.push_back({.problem = {}, .at = at, .latency_us = TrueUs(at)});
      }
    }
  }
  return seen;
}

const std::vector<int64_t> kPlan = {8, 66, 132, 264, 265, 528, 2112};

TEST(CandidateModelTest, PredictsStepsRowsAndLoopsThatItHasNotSeen) {
  const SubTable axes = Axes();
  const CandidateModel model =
      FitCandidate(axes, kTilesPerWave, kMultiprocessors, Anchors(kPlan));
  for (const int64_t tiles : {100, 133, 200, 400, 1000}) {
    for (const int64_t rows : {1, 16}) {
      const Coordinates at = At(tiles, 50, rows);
      EXPECT_NEAR(PredictUs(axes, model, at) / TrueUs(at), 1, 0.08)
          << tiles << " tiles, " << rows << " rows";
    }
  }
}

TEST(CandidateModelTest, LearnsWhatReadingColdTakes) {
  const SubTable axes = Axes();
  std::vector<Observation> seen = Anchors(kPlan);
  for (size_t i = 0; i < seen.size(); ++i) {
    seen[i].at.cold_mib = static_cast<double>(1 + i * 7 % 5);
    seen[i].latency_us = TrueUs(seen[i].at) + 3 * seen[i].at.cold_mib;
  }
  const CandidateModel model =
      FitCandidate(axes, kTilesPerWave, kMultiprocessors, seen);
  for (const double cold_mib : {0.5, 2.0, 6.0}) {
    Coordinates at = At(400, 50, 16);
    at.cold_mib = cold_mib;
    EXPECT_NEAR(PredictUs(axes, model, at) / (TrueUs(at) + 3 * cold_mib), 1,
                0.08)
        << cold_mib;
  }
}

TEST(CandidateModelTest, StepsAreMultiprocessorsBelowAWaveAndCapacityAbove) {
  const CandidateModel model =
      FitCandidate(Axes(), kTilesPerWave, kMultiprocessors, Anchors(kPlan));
  EXPECT_EQ(model.models[0].segments[0].step_tiles, kMultiprocessors);
  EXPECT_EQ(model.models[0].segments[1].step_tiles, kTilesPerWave);
}

TEST(CandidateModelTest, WhatOverlapsIsFittedAcrossWavesAndRows) {
  SubTable axes = Axes();
  axes.form = WaveForm::kOverlap;
  const CandidateModel model =
      FitCandidate(axes, kTilesPerWave, kMultiprocessors, Anchors(kPlan));
  const std::vector<GroupModel>& rows = model.models;
  EXPECT_EQ(rows[0].segments[0].coefficients, rows[0].segments[1].coefficients);
  EXPECT_EQ(rows[0].segments[1].step_tiles, kMultiprocessors);
  EXPECT_EQ(rows.front().segments[0].coefficients.gamma,
            rows.back().segments[0].coefficients.gamma);
  EXPECT_NE(rows.front().segments[0].coefficients.alpha,
            rows.back().segments[0].coefficients.alpha);
}

TEST(CandidateModelTest, KnowsWhereItWasMeasured) {
  const SubTable axes = Axes();
  const CandidateModel model =
      FitCandidate(axes, kTilesPerWave, kMultiprocessors, Anchors(kPlan));
  const WaveSegment& far = SegmentAt(axes, model, At(2112, 16, 16));
  EXPECT_FALSE(IsExtrapolated(far, 128, 10));
  EXPECT_TRUE(IsExtrapolated(far, 128, 11));
  EXPECT_TRUE(IsExtrapolated(far, 1000, 8));
  EXPECT_TRUE(IsExtrapolated(far, 2, 8));
  // Nobody measured two rows.
  const Coordinates two = At(264, 16, 2);
  EXPECT_EQ(QualityAt(axes, model, two).own, 0);
  EXPECT_TRUE(IsExtrapolated(SegmentAt(axes, model, two), 16, 1));
}

TEST(CandidateModelTest, WhatContradictsTheModelIsNoPartOfItsRange) {
  const SubTable axes = Axes();
  std::vector<Observation> seen =
      Anchors({8, 66, 132, 264, 265, 396, 528, 660, 792, 1056, 1584, 2112});
  const auto reach = [&] {
    return FitCandidate(axes, kTilesPerWave, kMultiprocessors, seen)
        .models.back()
        .segments.back()
        .max_wave;
  };
  const int64_t all = reach();
  EXPECT_GE(all, 2112 / kTilesPerWave);
  for (Observation& o : seen) {
    if (o.at.tiles == 2112) o.latency_us *= 1.1;
  }
  EXPECT_EQ(reach(), all);
  // A launch so long takes twice what shorter ones say.
  for (Observation& o : seen) {
    if (o.at.tiles == 2112) o.latency_us *= 2 / 1.1;
  }
  EXPECT_LT(reach(), all);
}

TEST(CandidateModelTest, BorrowsAcrossWaveRegimesWhereOneIsUnsampled) {
  const SubTable axes = Axes();
  const CandidateModel model = FitCandidate(
      axes, kTilesPerWave, kMultiprocessors, Anchors({8, 132, 264}));
  const Coordinates at = At(600, 64, 16);
  EXPECT_GT(PredictUs(axes, model, at),
            PredictUs(axes, model, At(264, 64, 16)));
  EXPECT_EQ(QualityAt(axes, model, at).own, 0);
}

// Multiprocessors take two tiles for the price of one, then slow down. Several
// rows were seen on half of a device, a single row, which takes a quarter
// longer, everywhere.
TEST(CandidateModelTest, OtherRowsSayHowADeviceFillsUp) {
  constexpr int64_t kRoomy = 5 * kMultiprocessors;
  const auto true_us = [](const Coordinates& at) {
    const double s = static_cast<double>(Waves(at.tiles, kMultiprocessors));
    const double pace = s <= 2 ? 1 : 1 + 0.25 * (s - 2);
    return (2 + pace * at.iterations) * (at.rows == 1 ? 1.25 : 1);
  };
  std::vector<Observation> seen;
  for (const int64_t tiles : {8, 132, 264, 396, 528, 660}) {
    for (const int64_t loop : {16, 64, 256}) {
      for (const int64_t rows : {1, 16}) {
        if (rows == 16 && tiles > kRoomy / 2) continue;
        const Coordinates at = At(tiles, loop, rows);
        seen.push_back({.problem = {}, .at = at, .latency_us = true_us(at)});
      }
    }
  }
  const SubTable axes = Axes();
  const CandidateModel model =
      FitCandidate(axes, kRoomy, kMultiprocessors, seen);
  const Coordinates filled = At(550, 100, 16);
  EXPECT_NEAR(PredictUs(axes, model, filled) / true_us(filled), 1, 0.25);
}

TEST(CandidateModelTest, OneSampleOrNoneStillPredictsSomethingPositive) {
  const SubTable axes = Axes();
  const CandidateModel none =
      FitCandidate(axes, kTilesPerWave, kMultiprocessors, {});
  EXPECT_GT(PredictUs(axes, none, At(100, 50, 1)), 0);
  const Observation one{.problem = {}, .at = At(8, 16, 1), .latency_us = 20};
  const CandidateModel model =
      FitCandidate(axes, kTilesPerWave, kMultiprocessors, {&one, 1});
  EXPECT_NEAR(PredictUs(axes, model, one.at), 20, 1);
}

}  // namespace
}  // namespace wavetune
