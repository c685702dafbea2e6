#include "fit/models/importance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "fit/testing/synthetic_device.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

TEST(ImportanceTest, IsOneAtTheBestAndFallsToTheLeast) {
  EXPECT_EQ(ImportanceOf(0), 1);
  EXPECT_EQ(ImportanceOf(-0.1), 1);
  EXPECT_DOUBLE_EQ(ImportanceOf(kHalfImportant), 0.5);
  EXPECT_GT(ImportanceOf(0.1), ImportanceOf(0.2));
  EXPECT_EQ(ImportanceOf(1000), kLeastImportance);
}

// A GEMM with every configuration measured at four problems.
class SetImportanceTest : public ::testing::Test {
 protected:
  explicit SetImportanceTest(WaveForm form = WaveForm::kOverlap)
      : device_(testing::GemmSpec(form), {}), input_(device_.Input()) {
    for (const Candidate& candidate : input_.candidates[0]) {
      for (const int64_t m : {64, 256, 1024, 4096}) {
        Problem problem;
        problem.extents = {m, 4096, 4096};
        input_.samples.push_back(
            device_.Measure({candidate.configuration, problem}));
      }
    }
    ProfileState state = MakeProfileState(input_).value();
    SetImportance(input_, state.specialisations[0]);
    candidates_ = std::move(state.specialisations[0].candidates);
  }

  testing::SyntheticDevice device_;
  ProfileInput input_;
  std::vector<CandidateState> candidates_;
};

TEST_F(SetImportanceTest, FollowsHowFarBehindTheBestAMeasurementIs) {
  std::map<Problem, std::vector<const Observation*>> at;
  for (const CandidateState& c : candidates_) {
    for (const Observation& o : c.observations) at[o.problem].push_back(&o);
  }
  ASSERT_EQ(at.size(), 4U);
  for (auto& [problem, observations] : at) {
    std::sort(observations.begin(), observations.end(),
              [](const Observation* a, const Observation* b) {
                return a->latency_us < b->latency_us;
              });
    // A prediction may say that another one would have been faster still.
    EXPECT_GT(observations.front()->importance, 0.5);
    // Of the slower ones the least that their latency alone says; more where
    // a prediction is nearer to the best.
    const double best_us = observations.front()->latency_us;
    for (const Observation* o : observations) {
      EXPECT_GE(o->importance, ImportanceOf(o->latency_us / best_us * 1.2 - 1));
      EXPECT_LE(o->importance, 1);
    }
    EXPECT_LT(observations.back()->importance,
              observations.front()->importance / 1.5);
  }
}

class SetImportanceOfASumTest : public SetImportanceTest {
 protected:
  SetImportanceOfASumTest() : SetImportanceTest(WaveForm::kSum) {}
};

TEST_F(SetImportanceOfASumTest, LeavesEveryMeasurementAsItIs) {
  for (const CandidateState& c : candidates_) {
    for (const Observation& o : c.observations) EXPECT_EQ(o.importance, 1);
  }
}

TEST(SetImportanceOfNothingTest, NeitherCandidatesNorSamplesAreNeeded) {
  const testing::SyntheticDevice device(testing::GemmSpec(), {});
  ProfileInput input = device.Input();
  ProfileState unmeasured = MakeProfileState(input).value();
  unmeasured.specialisations[0].axes.form = WaveForm::kOverlap;
  SetImportance(input, unmeasured.specialisations[0]);
  input.candidates[0].clear();
  ProfileState empty = MakeProfileState(input).value();
  empty.specialisations[0].axes.form = WaveForm::kOverlap;
  SetImportance(input, empty.specialisations[0]);
  EXPECT_TRUE(empty.specialisations[0].candidates.empty());
}

}  // namespace
}  // namespace wavetune
