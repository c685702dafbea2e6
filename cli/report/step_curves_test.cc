#include "cli/report/step_curves.h"

#include <memory>
#include <vector>

#include "cli/report/placed_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

// TwoGroupTable with steps: 10 us and 5 us more for every wave of 100 tiles; up
// to one wave in steps of 25 tiles.
Table SteppedTable() {
  Table table = wavetune::testing::TwoGroupTable();
  for (MacroGroup& group : table.sub_tables[0].groups) {
    for (WaveSegment& segment : group.models[0].segments) {
      segment.coefficients.delta_w = 5;
      segment.step_tiles = 100;
    }
    group.models[0].segments[0].step_tiles = 25;
  }
  return table;
}

class StepCurvesTest : public ::testing::Test {
 protected:
  StepCurvesTest() {
    input_.table =
        CompiledTable::Create(EncodeTable(SteppedTable()).value()).value();
  }

  const SubTable& sub() const { return input_.table->table().sub_tables[0]; }

  // A grid of `rows` x 1 tiles with k / 64 iterations.
  Sample Measured(const Configuration& configuration, int64_t rows, int64_t k,
                  double latency_us) const {
    return {
        .configuration = configuration,
        .problem = {.extents = {rows * configuration[0], configuration[0], k}},
        .latency_us = latency_us};
  }

  std::vector<StepCurve> Curves() {
    grid_ = PlaceSamples(input_, sub());
    return StepCurves(sub(), grid_);
  }

  ReportInput input_;
  SampleGrid grid_;
};

TEST_F(StepCurvesTest, StepsAreFlatAndRiseWhereTheyBegin) {
  input_.fitted = {Measured({64, 2}, 250, 512, 30)};
  const std::vector<StepCurve> curves = Curves();
  ASSERT_EQ(curves.size(), 1u);
  const std::vector<FittedPoint>& fit = curves[0].fit;
  // Four steps in the first wave, then one for each of two more.
  ASSERT_EQ(fit.size(), 12u);
  EXPECT_EQ(fit.front().tiles, 1);
  EXPECT_EQ(fit.back().tiles, 300);
  for (size_t i = 0; i + 1 < fit.size(); i += 2) {
    EXPECT_EQ(fit[i].latency_us, fit[i + 1].latency_us) << fit[i].tiles;
    if (i == 0) continue;
    EXPECT_EQ(fit[i].tiles, fit[i - 1].tiles + 1);
  }
  EXPECT_EQ(fit[0].latency_us, 15);
  EXPECT_EQ(fit[7].latency_us, 30);
  // The next regime counts waves of the capacity.
  EXPECT_EQ(fit[8].latency_us, 20);
  EXPECT_EQ(fit[10].latency_us, 25);
}

TEST_F(StepCurvesTest, AgreesWithWhatTheTableAnswers) {
  input_.fitted = {Measured({64, 2}, 300, 512, 30),
                   Measured({128, 2}, 300, 1024, 30)};
  for (const StepCurve& curve : Curves()) {
    const Configuration& lead =
        sub()
            .portfolio[sub().groups[static_cast<size_t>(curve.group)].lead]
            .configuration;
    for (const FittedPoint& point : curve.fit) {
      const Problem problem =
          Measured(lead, point.tiles,
                   static_cast<int64_t>(curve.iterations) * lead[0], 1)
              .problem;
      bool found = false;
      for (const ExplainedGroup& row :
           input_.table->Explain(0, problem.View())) {
        if (row.configuration[0] != lead[0]) continue;
        found = true;
        EXPECT_EQ(row.coordinates.tiles, point.tiles);
        EXPECT_EQ(row.latency_us, point.latency_us);
        EXPECT_EQ(row.relative_bound, point.relative_bound);
        EXPECT_EQ(row.extrapolated, point.extrapolated);
      }
      EXPECT_TRUE(found) << point.tiles;
    }
  }
}

TEST_F(StepCurvesTest, ShowsTheLoopsWithTheMostGridsAndTheirSamples) {
  for (int64_t rows = 1; rows <= 3; ++rows)
    input_.fitted.push_back(Measured({64, 2}, rows, 512, 30));
  for (int64_t rows = 1; rows <= 2; ++rows)
    input_.held_out.push_back(Measured({64, 2}, rows, 1024, 30));
  for (int64_t k = 2048; k <= 8192; k += 1024)
    input_.fitted.push_back(Measured({64, 2}, 1, k, 30));
  const std::vector<StepCurve> curves = Curves();
  ASSERT_EQ(curves.size(), 4u);
  EXPECT_EQ(curves[0].iterations, 8);
  EXPECT_EQ(curves[0].measured.size(), 3u);
  EXPECT_EQ(curves[1].iterations, 16);
  EXPECT_EQ(curves[1].measured.size(), 2u);
  EXPECT_FALSE(curves[1].measured[0]->fitted());
}

TEST_F(StepCurvesTest, WithoutSamplesShowsTheLoopAnchors) {
  const std::vector<StepCurve> curves = Curves();
  ASSERT_EQ(curves.size(), 4u);  // Two rows, two anchors.
  EXPECT_EQ(curves[0].iterations, 8);
  EXPECT_EQ(curves[1].iterations, 32);
  EXPECT_EQ(curves[0].fit.back().tiles, 800);
  EXPECT_TRUE(curves[0].fit.back().extrapolated);
}

TEST_F(StepCurvesTest, FarStepsAreThinnedOut) {
  input_.fitted = {Measured({64, 2}, 1'000'000, 512, 30)};
  const std::vector<StepCurve> curves = Curves();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_GT(curves[0].fit.size(), 2u * kStepsDrawn);
  EXPECT_LT(curves[0].fit.size(), 1000u);
  EXPECT_GT(curves[0].fit.back().tiles, 900'000);
  for (size_t i = 1; i < curves[0].fit.size(); ++i)
    EXPECT_GT(curves[0].fit[i].tiles, curves[0].fit[i - 1].tiles);
}

TEST_F(StepCurvesTest, SamplesAreSortedByWhatTheyAreFor) {
  const Sample anchor = Measured({64, 2}, 1, 512, 30);
  const Sample asked = Measured({64, 2}, 2, 512, 12);
  const Sample judged = Measured({64, 4}, 3, 512, 30);
  // Neither in the portfolio nor fitted: nothing is predicted for it.
  Sample other = Measured({64, 2}, 3, 512, 30);
  other.configuration = {32, 1};
  input_.candidates = {{.candidate = {.configuration = {32, 1}}}};
  input_.fitted = {anchor, asked};
  input_.representative = {asked.problem};
  input_.judged = {judged, other};
  Curves();
  ASSERT_EQ(grid_.samples.size(), 3u);
  EXPECT_EQ(grid_.samples[0].use, SampleUse::kAnchor);
  EXPECT_EQ(grid_.samples[1].use, SampleUse::kRepresentative);
  EXPECT_EQ(grid_.samples[2].use, SampleUse::kJudged);
  EXPECT_EQ(grid_.samples[2].candidate, 2);
  EXPECT_EQ(grid_.dropped, 0);
  // Predicted 15 us; of row 0 the micro table has the first at 8 iterations.
  ASSERT_TRUE(grid_.samples[1].residual.has_value());
  EXPECT_DOUBLE_EQ(*grid_.samples[1].residual, 12.0 / 15 - 1);
  EXPECT_FALSE(grid_.samples[2].residual.has_value());
}

TEST_F(StepCurvesTest, UnknownCandidatesAndOtherKernelVersionsAreCounted) {
  Sample stranger = Measured({64, 2}, 1, 512, 30);
  stranger.configuration = {96, 1};
  Sample shorter = Measured({64, 2}, 1, 512, 30);
  shorter.problem.extents.pop_back();
  Sample without = Measured({64, 2}, 1, 512, 0);
  input_.fitted = {stranger, shorter, without};
  EXPECT_TRUE(Curves().size() == 4u);
  EXPECT_EQ(grid_.dropped, 3);
}

}  // namespace
}  // namespace wavetune::cli
