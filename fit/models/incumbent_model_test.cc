#include "fit/models/incumbent_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/build/fit_table.h"
#include "fit/models/row_regimes.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kIncumbentCapacity = 264;
constexpr int64_t kIncumbentMultiprocessors = 132;

SubTable IncumbentAxes() {
  SubTable axes;
  axes.row_regimes = ChooseRowRegimes(true, {});
  axes.max_waves = WaveRegimes();
  axes.loop_anchors = ChooseLoopAnchors({});
  return axes;
}

double IncumbentUs(const Coordinates& at) {
  const int64_t step = at.tiles <= kIncumbentCapacity
                           ? kIncumbentMultiprocessors
                           : kIncumbentCapacity;
  return 4 +
         static_cast<double>(Waves(at.tiles, step)) * (1 + 0.4 * at.iterations);
}

// Every other launch takes `noise` longer, the others as much less.
std::vector<Observation> MeasuredWith(double factor, double noise) {
  std::vector<Observation> seen;
  for (const int64_t tiles : {8, 32, 66, 100, 132, 200, 264, 265, 528, 2112}) {
    for (const int64_t loop : {16, 32, 64, 90, 128}) {
      const Coordinates at{.tiles = tiles,
                           .iterations = static_cast<double>(loop),
                           .total_iterations = tiles * loop,
                           .longest_loop = loop,
                           .rows = 16};
      const double sign = seen.size() % 2 == 0 ? 1 : -1;
      seen.push_back(
          {.problem = {},
           .at = at,
           .latency_us = IncumbentUs(at) * factor * (1 + sign * noise)});
    }
  }
  return seen;
}

CandidateModel Fit(const std::vector<Observation>& seen) {
  return FitCandidate(IncumbentAxes(), kIncumbentCapacity,
                      kIncumbentMultiprocessors, seen);
}

MacroGroup GroupOf(const CandidateModel& model) {
  return {.lead = 0,
          .tiles_per_wave = model.tiles_per_wave,
          .models = model.models};
}

TEST(IncumbentModelTest, StaysWhereItExplainsWhatIsMeasuredAboutAsWell) {
  const CandidateModel incumbent = Fit(MeasuredWith(1.001, 0.02));
  const std::vector<Observation> seen = MeasuredWith(1, -0.02);
  const CandidateModel fitted = Fit(seen);
  const CandidateModel kept =
      PreferIncumbent(IncumbentAxes(), GroupOf(incumbent), seen, fitted);
  EXPECT_TRUE(kept.of_incumbent);
  for (size_t r = 0; r < kept.models.size(); ++r) {
    for (size_t w = 0; w < kept.models[r].segments.size(); ++w) {
      const WaveSegment& segment = kept.models[r].segments[w];
      const WaveSegment& serving = incumbent.models[r].segments[w];
      EXPECT_EQ(segment.coefficients, serving.coefficients);
      EXPECT_EQ(segment.floor_us, serving.floor_us);
      EXPECT_EQ(segment.max_wave, fitted.models[r].segments[w].max_wave);
    }
  }
}

TEST(IncumbentModelTest, ItsQualityIsThatOfWhatIsMeasuredNow) {
  const CandidateModel incumbent = Fit(MeasuredWith(1, 0));
  const std::vector<Observation> seen = MeasuredWith(1, 0.02);
  const CandidateModel kept =
      PreferIncumbent(IncumbentAxes(), GroupOf(incumbent), seen, Fit(seen));
  ASSERT_TRUE(kept.of_incumbent);
  const Coordinates& at = seen[0].at;
  EXPECT_NEAR(QualityAt(IncumbentAxes(), kept, at).mean_residual, 0.02, 0.005);
  EXPECT_GT(QualityAt(IncumbentAxes(), kept, at).own, 0);
}

TEST(IncumbentModelTest, GoesWhereTheDeviceHasBecomeSlower) {
  const CandidateModel incumbent = Fit(MeasuredWith(1, 0.02));
  const std::vector<Observation> seen = MeasuredWith(1.1, 0.02);
  const CandidateModel chosen =
      PreferIncumbent(IncumbentAxes(), GroupOf(incumbent), seen, Fit(seen));
  EXPECT_FALSE(chosen.of_incumbent);
  EXPECT_EQ(chosen.models, Fit(seen).models);
}

TEST(IncumbentModelTest, GoesWhereLaunchesSplitIntoWavesInAnotherWay) {
  const std::vector<Observation> seen = MeasuredWith(1, 0.02);
  const CandidateModel fitted = Fit(seen);
  MacroGroup other_capacity = GroupOf(fitted);
  other_capacity.tiles_per_wave = 132;
  EXPECT_FALSE(PreferIncumbent(IncumbentAxes(), other_capacity, seen, fitted)
                   .of_incumbent);
  MacroGroup fewer_regimes = GroupOf(fitted);
  fewer_regimes.models.pop_back();
  EXPECT_FALSE(PreferIncumbent(IncumbentAxes(), fewer_regimes, seen, fitted)
                   .of_incumbent);
  MacroGroup other_steps = GroupOf(fitted);
  other_steps.models[0].segments[0].step_tiles = 7;
  EXPECT_FALSE(
      PreferIncumbent(IncumbentAxes(), other_steps, seen, fitted).of_incumbent);
}

TEST(IncumbentModelTest, AGroupHasTheCoefficientsOfTheMemberThatAnswersMost) {
  SubTable table = IncumbentAxes();
  table.portfolio = {{.configuration = {1}}, {.configuration = {2}}};
  MacroGroup& group = table.groups.emplace_back();
  group.models.resize(1);
  group.models[0].segments.resize(1);
  group.models[0].segments[0].micro = {0, 1, 1};
  EXPECT_EQ(GroupFittedTo(table, {2}), &group);
  EXPECT_EQ(GroupFittedTo(table, {1}), nullptr);
  EXPECT_EQ(GroupFittedTo(table, {3}), nullptr);
}

// Two profiles of one device, which differ by their noise only.
class SuccessiveProfilesTest : public ::testing::Test {
 protected:
  SuccessiveProfilesTest()
      : first_(testing::GemmSpec(), {.noise = 0.01, .seed = 1}),
        second_(testing::GemmSpec(), {.noise = 0.01, .seed = 2}),
        earlier_(Profile(first_, first_.Input())),
        incumbent_(FitTable(earlier_).value().table),
        input_(Profile(second_, second_.Input())) {
    input_.earlier_samples = earlier_.samples;
    input_.incumbent = &incumbent_;
  }

  const testing::SyntheticDevice first_;
  const testing::SyntheticDevice second_;
  const ProfileInput earlier_;
  const Table incumbent_;
  ProfileInput input_;
};

constexpr char kStay[] = "models of the serving table stay";

TEST_F(SuccessiveProfilesTest, TheServingModelsStay) {
  const FitResult fit = FitTable(input_).value();
  EXPECT_THAT(fit.report.notes, Contains(HasSubstr(kStay)));
  size_t same = 0;
  for (const MacroGroup& group : fit.table.sub_tables[0].groups) {
    for (const MacroGroup& serving : incumbent_.sub_tables[0].groups) {
      same += group.models[0].segments[0].coefficients ==
              serving.models[0].segments[0].coefficients;
    }
  }
  EXPECT_GT(same, fit.table.sub_tables[0].groups.size() / 2);
}

TEST_F(SuccessiveProfilesTest, ARefinementIsFittedAnew) {
  input_.options.refinement_samples = 4;
  EXPECT_THAT(FitTable(input_).value().report.notes,
              Not(Contains(HasSubstr(kStay))));
}

TEST_F(SuccessiveProfilesTest, ATableOfOtherRegimesIsLeftAlone) {
  Table other = incumbent_;
  other.sub_tables[0].max_waves.front() += 1;
  input_.incumbent = &other;
  EXPECT_THAT(FitTable(input_).value().report.notes,
              Not(Contains(HasSubstr(kStay))));
}

}  // namespace
}  // namespace wavetune
