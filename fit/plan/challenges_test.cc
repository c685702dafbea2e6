#include "fit/plan/challenges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "fit/models/neighbours.h"
#include "fit/models/profile_state.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four representative problems (none is held out) with eight neighbours each,
// three candidates as members: the first was measured at all of them, the
// others at none. Latencies are set by hand.
class ChallengesTest : public ::testing::Test {
 protected:
  static constexpr size_t kProblems = 4;

  ChallengesTest() : device_(Spec(), {}), input_(device_.Input()) {
    const Configuration& first = input_.candidates[0][0].configuration;
    for (const WeightedProblem& w : device_.spec().representative_problems) {
      input_.samples.push_back(device_.Measure({first, w.problem}));
    }
    state_ = MakeProfileState(input_).value();
    wider_ = WithNeighbours(input_, state_.specialisations[0]);
    const size_t candidates = wider_.candidates.size();
    latencies_.assign(candidates,
                      std::vector<double>(wider_.representatives.size(), 100));
    failed_.resize(candidates);
  }

  static KernelSpec Spec() {
    KernelSpec spec = testing::GemmSpec();
    spec.representative_problems.clear();
    for (const int64_t m : {64, 512, 2048, 8192}) {
      spec.representative_problems.push_back(
          {.problem = {.extents = {m, 4096, 4096}}});
    }
    return spec;
  }

  std::vector<MeasureItem> Items(size_t most = 100) const {
    return ChallengeItems(wider_, kProblems, latencies_, {0, 1, 2}, failed_,
                          most);
  }

  MeasureItem Item(size_t candidate, size_t problem) const {
    return {wider_.candidates[candidate].candidate->configuration,
            wider_.representatives[problem]};
  }

  testing::SyntheticDevice device_;
  ProfileInput input_;
  ProfileState state_;
  SpecialisationState wider_;
  LatencyMatrix latencies_;
  FailedProblems failed_;
};

TEST_F(ChallengesTest, NobodyIsChallengedWhoWasMeasuredWhereItWins) {
  ASSERT_EQ(wider_.representatives.size(), kProblems * (1 + kNeighbours));
  for (double& us : latencies_[0]) us = 50;
  EXPECT_THAT(Items(), IsEmpty());
}

TEST_F(ChallengesTest, AWinnerAtANeighbourIsMeasuredAtTheProblemItself) {
  for (double& us : latencies_[0]) us = 90;
  latencies_[1][FirstNeighbour(kProblems, 2) + 5] = 80;
  const std::vector<MeasureItem> items = Items();
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0], Item(1, 2));
}

TEST_F(ChallengesTest, TheLargestClaimsComeFirstAndNoneTwice) {
  for (double& us : latencies_[0]) us = 90;
  latencies_[1][FirstNeighbour(kProblems, 0)] = 80;
  latencies_[1][FirstNeighbour(kProblems, 0) + 1] = 79;
  latencies_[2][FirstNeighbour(kProblems, 3)] = 45;
  latencies_[2][FirstNeighbour(kProblems, 1)] = 89;
  EXPECT_EQ(Items(),
            (std::vector<MeasureItem>{Item(2, 3), Item(1, 0), Item(2, 1)}));
  EXPECT_EQ(Items(2), (std::vector<MeasureItem>{Item(2, 3), Item(1, 0)}));
}

// At the problem itself: that is what leaders are for.
TEST_F(ChallengesTest, OnlyNeighboursChallenge) {
  for (double& us : latencies_[0]) us = 90;
  latencies_[1][2] = 10;
  EXPECT_THAT(Items(), IsEmpty());
}

TEST_F(ChallengesTest, WhatFailedIsNotAskedForAgain) {
  for (double& us : latencies_[0]) us = 90;
  latencies_[1][FirstNeighbour(kProblems, 2)] = 80;
  failed_[1] = {wider_.representatives[2]};
  EXPECT_THAT(Items(), IsEmpty());
}

TEST_F(ChallengesTest, ProblemsWhereNoMemberWasMeasuredAreLeftToLeaders) {
  latencies_[1][FirstNeighbour(kProblems, 2)] = 80;
  EXPECT_THAT(
      ChallengeItems(wider_, kProblems, latencies_, {1, 2}, failed_, 100),
      IsEmpty());
}

TEST_F(ChallengesTest, WithoutNeighboursThereAreNone) {
  EXPECT_THAT(ChallengeItems(state_.specialisations[0], kProblems, latencies_,
                             {0, 1, 2}, failed_, 100),
              IsEmpty());
}

// What PlanNext asks for once leaders are done.
class ChallengedProfileTest : public ::testing::TestWithParam<WaveForm> {
 protected:
  ChallengedProfileTest() : device_(Spec(), {}) {}

  static KernelSpec Spec() {
    KernelSpec spec = testing::GemmSpec(GetParam());
    spec.representative_problems.clear();
    for (const int64_t m : {1, 16, 100, 400, 1000, 4000}) {
      for (const int64_t n : {576, 1536, 4096}) {
        spec.representative_problems.push_back(
            {.problem = {.extents = {m, n, 2560}}});
      }
    }
    return spec;
  }

  const testing::SyntheticDevice device_;
};

TEST_P(ChallengedProfileTest, OnlyAnOverlapIsChallengedAndOnlyWithRoom) {
  ProfileInput input = Profile(device_, device_.Input());
  input.options.target_regret = 0;
  std::set<Problem> representative;
  for (const WeightedProblem& w : device_.spec().representative_problems) {
    representative.insert(w.problem);
  }
  // As if every other candidate alone had been refined.
  std::erase_if(input.samples, [&](const Sample& sample) {
    return representative.contains(sample.problem);
  });
  for (size_t i = 0; i < input.candidates[0].size(); i += 2) {
    const Configuration& refined = input.candidates[0][i].configuration;
    for (const Problem& problem : representative) {
      input.samples.push_back(device_.Measure({refined, problem}));
    }
  }
  const ProfileState state = MakeProfileState(input).value();
  const SpecialisationState& own = state.specialisations[0];
  const FailedProblems failed(own.candidates.size());
  const auto items = [&](const RefinementRoom& room) {
    return RefinementItems(input, own, failed, room, 48);
  };
  EXPECT_THAT(items({.leaders = 0, .challenges = 0}), IsEmpty());
  const std::vector<MeasureItem> challenges =
      items({.leaders = 0, .challenges = 5});
  EXPECT_LE(challenges.size(), 5u);
  EXPECT_EQ(challenges.empty(), GetParam() == WaveForm::kSum);
  for (const MeasureItem& item : challenges) {
    EXPECT_TRUE(representative.contains(item.problem));
  }
  EXPECT_FALSE(items({.leaders = 100, .challenges = 0}).empty());
}

TEST_P(ChallengedProfileTest, AProfileLeavesRoomForVerification) {
  const ProfileInput done = Profile(device_, device_.Input());
  EXPECT_LE(done.samples.size() + 36,
            static_cast<size_t>(done.options.samples_per_candidate) *
                done.candidates[0].size());
}

INSTANTIATE_TEST_SUITE_P(Forms, ChallengedProfileTest,
                         ::testing::Values(WaveForm::kSum, WaveForm::kOverlap));

// Twelve of 24 are kept for verification.
TEST(HeldOutChallengesTest, ProblemsOfVerificationAreNeverMeasured) {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  for (int64_t m = 1; m <= 24; ++m) {
    spec.representative_problems.push_back(
        {.problem = {.extents = {64 * m, 4096, 4096}}});
  }
  const testing::SyntheticDevice device(spec, {});
  ProfileInput input = device.Input();
  for (const WeightedProblem& w : device.spec().representative_problems) {
    input.samples.push_back(
        device.Measure({input.candidates[0][0].configuration, w.problem}));
  }
  const ProfileState state = MakeProfileState(input).value();
  const SpecialisationState wider =
      WithNeighbours(input, state.specialisations[0]);
  LatencyMatrix latencies(
      wider.candidates.size(),
      std::vector<double>(wider.representatives.size(), 100));
  for (double& us : latencies[1]) us = 50;
  const FailedProblems failed(wider.candidates.size());
  const std::vector<MeasureItem> items =
      ChallengeItems(wider, 24, latencies, {0, 1}, failed, 100);
  EXPECT_THAT(items, SizeIs(12));
  for (const MeasureItem& item : items) {
    const auto place = std::find(wider.representatives.begin(),
                                 wider.representatives.end(), item.problem);
    EXPECT_FALSE(IsHeldOut(
        static_cast<size_t>(place - wider.representatives.begin()), 24));
  }
}

}  // namespace
}  // namespace wavetune
