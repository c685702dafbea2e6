#include "fit/samples/earlier_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace wavetune {
namespace {

using ::testing::SizeIs;

constexpr int kPairs = 40;

std::vector<Sample> Measured(double factor, int count = kPairs) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back({.configuration = {64, 32},
                       .problem = {.extents = {i + 1, 64, 64}},
                       .latency_us = (10 + i) * factor});
  }
  return samples;
}

TEST(EarlierSamplesTest, AgreeWhereLatenciesRepeat) {
  const std::vector<Sample> now = Measured(1.005);
  const std::vector<Sample> earlier = Measured(1);
  const EarlierAgreement agreement = CompareWithEarlier(now, earlier);
  EXPECT_TRUE(agreement.agree);
  EXPECT_EQ(agreement.pairs, kPairs);
  EXPECT_DOUBLE_EQ(agreement.median_ratio, 1.005);
  EXPECT_THAT(UsableEarlierSamples(now, earlier, agreement), SizeIs(kPairs));
}

TEST(EarlierSamplesTest, DoNotCountWhereTheDeviceHasBecomeSlower) {
  const std::vector<Sample> now = Measured(1.03);
  const std::vector<Sample> earlier = Measured(1);
  const EarlierAgreement agreement = CompareWithEarlier(now, earlier);
  EXPECT_FALSE(agreement.agree);
  EXPECT_NEAR(agreement.median_ratio, 1.03, 1e-12);
  EXPECT_THAT(UsableEarlierSamples(now, earlier, agreement), SizeIs(0));
}

TEST(EarlierSamplesTest, DoNotCountWhereAQuarterIsFarOff) {
  std::vector<Sample> now = Measured(1);
  for (int i = 0; i < kPairs * 3 / 10; ++i)
    now[static_cast<size_t>(i)].latency_us *= 0.8;
  EXPECT_FALSE(CompareWithEarlier(now, Measured(1)).agree);
}

TEST(EarlierSamplesTest, NeedSomethingToCompareWith) {
  const std::vector<Sample> earlier = Measured(1);
  EXPECT_FALSE(CompareWithEarlier({}, earlier).agree);
  EXPECT_FALSE(CompareWithEarlier(Measured(1, 29), earlier).agree);
  EXPECT_TRUE(CompareWithEarlier(Measured(1, 30), earlier).agree);
  EXPECT_EQ(CompareWithEarlier(earlier, {}).pairs, 0);
}

TEST(EarlierSamplesTest, APairThatChangedGoesByWhatIsMeasuredNow) {
  std::vector<Sample> now = Measured(1);
  now[7].latency_us *= 1.2;
  const std::vector<Sample> earlier = Measured(1);
  const auto usable =
      UsableEarlierSamples(now, earlier, CompareWithEarlier(now, earlier));
  EXPECT_THAT(usable, SizeIs(kPairs - 1));
  EXPECT_EQ(std::count(usable.begin(), usable.end(), &earlier[7]), 0);
}

TEST(EarlierSamplesTest, WhatWasNotMeasuredAgainCounts) {
  const std::vector<Sample> now = Measured(1, 35);
  const std::vector<Sample> earlier = Measured(1);
  EXPECT_THAT(
      UsableEarlierSamples(now, earlier, CompareWithEarlier(now, earlier)),
      SizeIs(kPairs));
}

TEST(EarlierSamplesTest, SuspectAndAbsurdOnesAreNeitherComparedNorUsed) {
  const std::vector<Sample> now = Measured(1);
  std::vector<Sample> earlier = Measured(1);
  earlier[0].suspect = true;
  earlier[1].latency_us = std::numeric_limits<double>::quiet_NaN();
  earlier[2].latency_us = -1;
  const EarlierAgreement agreement = CompareWithEarlier(now, earlier);
  EXPECT_TRUE(agreement.agree);
  EXPECT_EQ(agreement.pairs, kPairs - 3);
  EXPECT_THAT(UsableEarlierSamples(now, earlier, agreement),
              SizeIs(kPairs - 3));
}

TEST(EarlierSamplesTest, TheOrderDoesNotMatter) {
  std::vector<Sample> now = Measured(1.01);
  std::vector<Sample> earlier = Measured(1);
  now[3].latency_us *= 1.04;
  const EarlierAgreement before = CompareWithEarlier(now, earlier);
  std::reverse(now.begin(), now.end());
  std::rotate(earlier.begin(), earlier.begin() + 11, earlier.end());
  const EarlierAgreement after = CompareWithEarlier(now, earlier);
  EXPECT_EQ(after.agree, before.agree);
  EXPECT_EQ(after.median_ratio, before.median_ratio);
}

}  // namespace
}  // namespace wavetune
