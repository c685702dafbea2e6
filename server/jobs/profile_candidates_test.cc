#include "server/jobs/profile_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class ProfileCandidatesTest : public ::testing::Test {
 protected:
  bool Take(size_t index, const std::string& specialisation,
            const std::string& excluded_reason = "") {
    Candidate candidate{.configuration = space_[index]};
    candidate.excluded_reason = excluded_reason;
    return TakeCandidate(spec_, {specialisation, candidate}, candidates_);
  }

  // Full and causal.
  const KernelSpec spec_ = testing::CausalAttentionSpec();
  const std::vector<Configuration> space_ = EnumerateConfigurations(spec_);
  ProfileCandidates candidates_ =
      ProfileCandidates(spec_.SpecialisationNames().size());
};

TEST_F(ProfileCandidatesTest, TheLatestRecordOfAConfigurationCounts) {
  ASSERT_THAT(spec_.SpecialisationNames(),
              ::testing::ElementsAre("full", "causal"));
  EXPECT_TRUE(Take(0, "causal"));
  EXPECT_TRUE(Take(1, "causal"));
  EXPECT_EQ(CountUsable(candidates_), 2);
  EXPECT_TRUE(Take(0, "causal", "spills"));
  ASSERT_THAT(candidates_[1], SizeIs(2));
  EXPECT_EQ(candidates_[1][0].excluded_reason, "spills");
  EXPECT_THAT(candidates_[0], SizeIs(0));
  EXPECT_EQ(CountUsable(candidates_), 1);
}

TEST_F(ProfileCandidatesTest, ASpecialisationOfAnOlderKernelIsLeftOut) {
  EXPECT_FALSE(Take(0, "sliding_window"));
  EXPECT_THAT(candidates_[0], SizeIs(0));
  EXPECT_THAT(candidates_[1], SizeIs(0));
}

TEST_F(ProfileCandidatesTest, WhatNothingIsKnownOfIsMissing) {
  Take(0, "full");
  Take(1, "full", "spills");
  const auto missing = MissingConfigurations(spec_, candidates_);
  ASSERT_THAT(missing, SizeIs(2));
  EXPECT_THAT(missing[0], SizeIs(space_.size() - 2));
  EXPECT_EQ(missing[0].front(), space_[2]);
  EXPECT_EQ(missing[1], space_);
}

TEST_F(ProfileCandidatesTest, OneUsableCandidateIsEnough) {
  Take(0, "full", "spills");
  Take(1, "causal");
  EXPECT_TRUE(CheckAnyUsable(spec_, "GPU-1", candidates_).ok());
}

TEST_F(ProfileCandidatesTest, SaysWhyNoneIsUsable) {
  const absl::Status nothing = CheckAnyUsable(spec_, "GPU-1", candidates_);
  EXPECT_TRUE(absl::IsFailedPrecondition(nothing));
  EXPECT_THAT(std::string(nothing.message()), HasSubstr("GPU-1"));
  EXPECT_THAT(std::string(nothing.message()), HasSubstr("refit-only"));
  Take(1, "causal", "it does not compile");
  Take(0, "causal", "spills");
  const absl::Status excluded = CheckAnyUsable(spec_, "GPU-1", candidates_);
  EXPECT_TRUE(absl::IsFailedPrecondition(excluded));
  EXPECT_THAT(std::string(excluded.message()),
              HasSubstr("all 2 candidates of kernel " + spec_.name));
  EXPECT_THAT(std::string(excluded.message()),
              HasSubstr(FormatConfiguration(spec_, space_[1]) +
                        ": it does not compile"));
}

TEST_F(ProfileCandidatesTest, WrongOnesAreCountedAmongThoseThatWereChecked) {
  Take(0, "full", "wrong result: 3 of 100\n  more lines");
  Take(1, "full", "does not compile: no results to compare");
  for (size_t i = 2; i < 5; ++i) Take(i, "full");
  const CheckedCandidates counts = CountChecked(spec_, candidates_);
  EXPECT_EQ(counts.wrong, 1);
  EXPECT_EQ(counts.right, 3);
  EXPECT_EQ(counts.first_wrong,
            FormatConfiguration(spec_, space_[0]) + ": wrong result: 3 of 100");
  EXPECT_TRUE(CheckFewWrong(spec_, candidates_).ok());  // A quarter.
  Take(5, "causal", "wrong result: all");
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckFewWrong(spec_, candidates_)));
}

TEST_F(ProfileCandidatesTest, SaysWhereTheDefaultCannotBeUsed) {
  EXPECT_EQ(DefaultText(spec_, candidates_), "");
  candidates_[1].push_back({.configuration = spec_.default_configuration});
  EXPECT_EQ(DefaultText(spec_, candidates_), "");
  candidates_[1][0].excluded_reason = "hung: 10 s";
  EXPECT_THAT(DefaultText(spec_, candidates_), HasSubstr("[causal] cannot"));
  EXPECT_THAT(DefaultText(spec_, candidates_), HasSubstr("hung: 10 s"));
}

}  // namespace
}  // namespace wavetune
