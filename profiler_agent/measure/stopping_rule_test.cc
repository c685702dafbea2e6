#include "profiler_agent/measure/stopping_rule.h"

#include <limits>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

constexpr StoppingRule kRule = {.min_launches = 5,
                                .max_launches = 40,
                                .target_relative_error = 0.02,
                                .max_device_time_us = 10000};

MeasurementProgress Progress(int launches, double device_time_us,
                             double half_width, double latency_us = 100) {
  MeasurementProgress progress{.launches = launches,
                               .device_time_us = device_time_us};
  progress.estimate.latency_us = latency_us;
  progress.estimate.relative_half_width = half_width;
  return progress;
}

TEST(StoppingRuleTest, GoesOnBelowTheLeastLaunchesHoweverGood) {
  EXPECT_EQ(Judge(kRule, Progress(4, 400, 0)), StopReason::kGoOn);
}

TEST(StoppingRuleTest, TwoLongLaunchesAreEnough) {
  const double long_us = 2 * kRule.max_device_time_us;
  EXPECT_EQ(Judge(kRule, Progress(2, long_us, 0.5)),
            StopReason::kMaxDeviceTime);
  EXPECT_EQ(Judge(kRule, Progress(1, long_us, 0.5)), StopReason::kGoOn);
  EXPECT_EQ(Judge(kRule, Progress(4, 0.9 * long_us, 0.5)), StopReason::kGoOn);
}

TEST(StoppingRuleTest, StopsWhenTheIntervalIsNarrow) {
  EXPECT_EQ(Judge(kRule, Progress(5, 500, 0.02)), StopReason::kTargetMet);
  EXPECT_EQ(Judge(kRule, Progress(5, 500, 0.0201)), StopReason::kGoOn);
}

TEST(StoppingRuleTest, StopsAtTheMostLaunches) {
  EXPECT_EQ(Judge(kRule, Progress(39, 3900, 0.1)), StopReason::kGoOn);
  EXPECT_EQ(Judge(kRule, Progress(40, 4000, 0.1)), StopReason::kMaxLaunches);
}

TEST(StoppingRuleTest, ShortLaunchesMayBeMore) {
  EXPECT_EQ(Judge(kRule, Progress(79, 3950, 0.1, 50)), StopReason::kGoOn);
  EXPECT_EQ(Judge(kRule, Progress(80, 4000, 0.1, 50)),
            StopReason::kMaxLaunches);
  EXPECT_EQ(MostLaunches(kRule, Progress(5, 10, 0.1, 2)), 320);
  EXPECT_EQ(MostLaunches(kRule, Progress(5, 5000, 0.1, 1000)), 40);
  EXPECT_EQ(MostLaunches(kRule, Progress(0, 0, 0, 0)), 40);
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(MostLaunches({.max_launches = kMost}, Progress(5, 10, 0.1, 2)),
            kMost);
}

TEST(StoppingRuleTest, ShortLaunchesThatAreTimedTogetherAreNotShort) {
  MeasurementProgress progress = Progress(40, 8000, 0.1, 10);
  progress.launches_per_timing = 20;
  EXPECT_EQ(Judge(kRule, progress), StopReason::kMaxLaunches);
}

TEST(StoppingRuleTest, StopsWhenTheDeviceTimeIsUsed) {
  EXPECT_EQ(Judge(kRule, Progress(6, 9999, 0.1)), StopReason::kGoOn);
  EXPECT_EQ(Judge(kRule, Progress(6, 10000, 0.1)), StopReason::kMaxDeviceTime);
}

TEST(StoppingRuleTest, ANarrowIntervalWinsOverTheLimits) {
  EXPECT_EQ(Judge(kRule, Progress(40, 20000, 0.01)), StopReason::kTargetMet);
}

TEST(StoppingRuleTest, FirstBurstHasTheLeastLaunches) {
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(0, 0, 0)), 5);
}

TEST(StoppingRuleTest, LaterBurstsDoubleTheLaunches) {
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(5, 600, 0.1)), 5);
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(10, 1100, 0.1)), 10);
}

TEST(StoppingRuleTest, BurstsStayWithinBothLimits) {
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(30, 3300, 0.1)), 10);
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(30, 330, 0.1, 10)), 30);
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(10, 9500, 0.1)), 5);
  EXPECT_EQ(NextBurstLaunches(kRule, Progress(10, 50000, 0.1, 5000)), 1);
}

TEST(StoppingRuleTest, FillsInDefaultsForWhatIsNotSet) {
  const StoppingRule rule =
      StoppingRule{
          .min_launches = 0,
          .max_launches = -1,
          .target_relative_error = 0,
          .max_device_time_us = std::numeric_limits<double>::quiet_NaN()}
          .WithDefaults();
  const StoppingRule defaults;
  EXPECT_EQ(rule.min_launches, defaults.min_launches);
  EXPECT_EQ(rule.max_launches, defaults.max_launches);
  EXPECT_EQ(rule.target_relative_error, defaults.target_relative_error);
  EXPECT_EQ(rule.max_device_time_us, defaults.max_device_time_us);
}

TEST(StoppingRuleTest, TheMostLaunchesAreNeverBelowTheLeast) {
  EXPECT_EQ(
      (StoppingRule{.min_launches = 50, .max_launches = 10}.WithDefaults())
          .max_launches,
      50);
}

TEST(StoppingRuleTest, WideQuartilesOrASpikeLookDisturbed) {
  EXPECT_FALSE(LooksDisturbed({.relative_spread = 0.05, .worst_ratio = 1.2}));
  EXPECT_TRUE(LooksDisturbed({.relative_spread = 0.12, .worst_ratio = 1.2}));
  EXPECT_TRUE(LooksDisturbed({.relative_spread = 0.01, .worst_ratio = 4.9}));
}

}  // namespace
}  // namespace wavetune
