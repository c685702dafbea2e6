#include "fit/build/residual_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace wavetune {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Made-up noise in [-1, 1).
class Noise {
 public:
  double Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) / (1ull << 52) - 1;
  }

 private:
  uint64_t state_ = 1;
};

// Launches of `problems` problems, four each, with a value in [0, 1) that goes
// up with the problem's number.
struct Launches {
  explicit Launches(size_t problems) {
    for (size_t p = 0; p < 4 * problems; ++p) {
      points.push_back({.problem = p / 4});
      values.push_back(static_cast<double>(p / 4) /
                       static_cast<double>(problems));
    }
  }

  std::vector<ResidualPoint> points;
  std::vector<double> values;
};

TEST(ResidualClassesTest, ASlopeIsFoundWithItsSize) {
  Launches launches(400);
  Noise noise;
  for (size_t i = 0; i < launches.points.size(); ++i) {
    launches.points[i].ratio =
        (0.5 + launches.values[i]) * (1 + 0.02 * noise.Next());
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  ASSERT_THAT(found.classes, SizeIs(8));
  EXPECT_THAT(found.classes.front().value, DoubleNear(0.06, 0.02));
  EXPECT_THAT(found.classes.front().ratio, DoubleNear(0.56, 0.02));
  EXPECT_THAT(found.classes.back().ratio, DoubleNear(1.44, 0.02));
  // The mean of |ratio - 1| / sqrt(ratio), and what is left within a class.
  EXPECT_THAT(found.error, DoubleNear(0.266, 0.01));
  EXPECT_THAT(found.error - found.gain, DoubleNear(0.035, 0.01));
  EXPECT_GT(found.gain, 0.2);
  EXPECT_TRUE(found.IsSure());
}

TEST(ResidualClassesTest, AHumpIsFoundToo) {
  Launches launches(400);
  for (size_t i = 0; i < launches.points.size(); ++i) {
    const double value = launches.values[i];
    launches.points[i].ratio = value > 0.375 && value < 0.625 ? 2 : 1;
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  EXPECT_EQ(found.classes[0].ratio, 1);
  EXPECT_EQ(found.classes[3].ratio, 2);
  EXPECT_EQ(found.classes[7].ratio, 1);
  EXPECT_GT(found.gain, 0.1);
  EXPECT_TRUE(found.IsSure());
}

TEST(ResidualClassesTest, NoiseGainsNothing) {
  Launches launches(400);
  Noise noise;
  for (ResidualPoint& point : launches.points) {
    point.ratio = 1 + 0.5 * noise.Next();
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  EXPECT_GT(found.error, 0.2);
  EXPECT_LT(found.gain, 0.005);
}

// Each problem is off by something of its own: few of them fall into a class,
// so that their median says little of others.
TEST(ResidualClassesTest, WhatProblemsHaveOfTheirOwnIsNoEvidence) {
  Launches launches(48);
  Noise noise;
  for (size_t i = 0; i < launches.points.size(); i += 4) {
    const double own = 1 + 0.5 * noise.Next();
    for (size_t j = i; j < i + 4; ++j) launches.points[j].ratio = own;
  }
  EXPECT_FALSE(ClassifyResiduals(launches.points, launches.values).IsSure());
}

TEST(ResidualClassesTest, OneFactorForAllGainsNothing) {
  Launches launches(100);
  for (ResidualPoint& point : launches.points) point.ratio = 3;
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  EXPECT_EQ(found.gain, 0);
  for (const ResidualClass& c : found.classes) EXPECT_EQ(c.ratio, 1);
}

TEST(ResidualClassesTest, EqualValuesShareAClass) {
  Launches launches(100);
  for (size_t i = 0; i < launches.points.size(); ++i) {
    launches.values[i] = i < 100 ? 2 : 7;
    launches.points[i].ratio = i < 100 ? 0.5 : 1;
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  ASSERT_THAT(found.classes, SizeIs(2));
  EXPECT_EQ(found.classes[0].value, 2);
  EXPECT_EQ(found.classes[0].ratio, 0.5);
  EXPECT_EQ(found.class_of.front(), 0u);
  EXPECT_EQ(found.class_of.back(), 1u);
}

TEST(ResidualClassesTest, DoubtedLaunchesCountLess) {
  Launches launches(100);
  for (size_t i = 0; i < launches.points.size(); ++i) {
    launches.points[i].ratio = i % 4 == 0 ? 1 : 9;
    launches.points[i].weight = i % 4 == 0 ? 1 : 0.1;
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  EXPECT_NEAR(found.error, 0.3 / 1.3 * 8 / 3, 1e-9);
}

TEST(ResidualClassesTest, FewerProblemsMakeFewerClasses) {
  Launches launches(24);
  for (size_t i = 0; i < launches.points.size(); ++i) {
    launches.points[i].ratio = i < 48 ? 0.5 : 1;
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  EXPECT_THAT(found.classes, SizeIs(4));
  EXPECT_TRUE(found.IsSure());
}

TEST(ResidualClassesTest, AFewProblemsTellNothing) {
  Launches launches(11);
  for (size_t i = 0; i < launches.points.size(); ++i) {
    launches.points[i].ratio = 0.5 + launches.values[i];
  }
  const ResidualClasses found =
      ClassifyResiduals(launches.points, launches.values);
  EXPECT_THAT(found.classes, IsEmpty());
  EXPECT_FALSE(found.IsSure());
  EXPECT_THAT(ClassifyResiduals({}, {}).classes, IsEmpty());
}

}  // namespace
}  // namespace wavetune
