#include "profiler_agent/measure/measurement.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

constexpr StoppingRule kFourLaunches = {.min_launches = 4,
                                        .max_launches = 16,
                                        .target_relative_error = 0.02,
                                        .max_device_time_us = 1e6};

Measurement Start(const StoppingRule& rule = kFourLaunches) {
  return Measurement({64, 32}, {.extents = {1, 2, 3}}, rule);
}

LaunchTimes Times(std::vector<double> launch_us) {
  return {.launch_us = std::move(launch_us), .warmup_us = 50};
}

TEST(MeasurementTest, QuietLaunchesStopAfterTheFirstBurst) {
  Measurement measurement = Start();
  EXPECT_FALSE(measurement.done());
  EXPECT_EQ(measurement.next().launches, 4);
  EXPECT_GE(measurement.next().warmup, 1);
  ASSERT_TRUE(measurement.Add(Times({100, 101, 100, 100})).ok());
  EXPECT_TRUE(measurement.done());

  const Sample sample = measurement.Result();
  EXPECT_EQ(sample.configuration, (Configuration{64, 32}));
  EXPECT_EQ(sample.problem.extents, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(sample.latency_us, 100);
  EXPECT_DOUBLE_EQ(sample.min_us, 100);
  EXPECT_EQ(sample.launches, 4);
  EXPECT_DOUBLE_EQ(sample.device_time_us, 451);
  EXPECT_FALSE(sample.suspect);
}

TEST(MeasurementTest, ASpikeInTheFirstBurstIsMeasuredAgain) {
  StoppingRule rule = kFourLaunches;
  rule.min_launches = 8;
  Measurement measurement = Start(rule);
  ASSERT_TRUE(
      measurement.Add(Times({100, 100, 100, 100, 100, 100, 100, 600})).ok());
  ASSERT_FALSE(measurement.done());
  EXPECT_EQ(measurement.next().launches, 8);
  ASSERT_TRUE(measurement.Add(Times({80, 80, 80, 80, 80, 80, 80, 80})).ok());
  // The first burst was slow as a whole: the second one decides.
  EXPECT_TRUE(measurement.done());
  EXPECT_DOUBLE_EQ(measurement.Result().latency_us, 80);
}

TEST(MeasurementTest, IsRepeatedForASpikeOnlyOnce) {
  Measurement measurement = Start();
  ASSERT_TRUE(measurement.Add(Times({100, 100, 100, 600})).ok());
  while (!measurement.done()) {
    ASSERT_TRUE(measurement
                    .Add(Times(std::vector<double>(
                        static_cast<size_t>(measurement.next().launches), 100)))
                    .ok());
    ASSERT_LE(measurement.Result().launches, 8);
  }
}

TEST(MeasurementTest, NeverStableIsSuspectAtTheMostLaunches) {
  Measurement measurement = Start();
  double us = 100;
  while (!measurement.done()) {
    std::vector<double> launches;
    for (int i = 0; i < measurement.next().launches; ++i) {
      launches.push_back(us *= 1.3);
    }
    ASSERT_TRUE(measurement.Add(Times(launches)).ok());
  }
  EXPECT_EQ(measurement.Result().launches, 16);
  EXPECT_TRUE(measurement.Result().suspect);
}

TEST(MeasurementTest, StopsWhenTheDeviceTimeIsUsedUp) {
  StoppingRule rule = kFourLaunches;
  rule.max_device_time_us = 500;
  Measurement measurement = Start(rule);
  ASSERT_TRUE(measurement.Add(Times({100, 130, 160, 190})).ok());
  EXPECT_TRUE(measurement.done());
}

LaunchTimes Throttled(std::vector<double> launch_us) {
  LaunchTimes times = Times(std::move(launch_us));
  times.throttled = true;
  times.throttle_reasons = 0x40;
  times.sm_clock_mhz = 1200;
  return times;
}

TEST(MeasurementTest, AThrottledBurstIsMeasuredAgain) {
  Measurement measurement = Start();
  ASSERT_TRUE(measurement.Add(Throttled({160, 160, 160, 160})).ok());
  ASSERT_FALSE(measurement.done());
  EXPECT_EQ(measurement.next().launches, 4);
  LaunchTimes cool = Times({100, 100, 100, 100});
  cool.sm_clock_mhz = 1980;
  cool.throttle_reasons = 0x04;
  ASSERT_TRUE(measurement.Add(cool).ok());
  EXPECT_TRUE(measurement.done());
  EXPECT_FALSE(measurement.given_up());
  const Sample sample = measurement.Result();
  EXPECT_DOUBLE_EQ(sample.latency_us, 100);
  EXPECT_EQ(sample.launches, 4);
  EXPECT_FALSE(sample.suspect);
  EXPECT_FALSE(sample.throttled);
  EXPECT_EQ(sample.sm_clock_mhz, 1980);
  EXPECT_EQ(sample.throttle_reasons, 0x04U);
  EXPECT_DOUBLE_EQ(sample.device_time_us, 690 + 450);  // What it cost.
}

TEST(MeasurementTest, WhatStaysThrottledIsSuspectAndSaysWhy) {
  Measurement measurement = Start();
  int bursts = 0;
  while (!measurement.done()) {
    ASSERT_TRUE(measurement.Add(Throttled({160, 160, 160, 160})).ok());
    ASSERT_LE(++bursts, 4);
  }
  EXPECT_TRUE(measurement.given_up());
  const Sample sample = measurement.Result();
  EXPECT_DOUBLE_EQ(sample.latency_us, 160);
  EXPECT_TRUE(sample.suspect);
  EXPECT_TRUE(sample.throttled);
  EXPECT_EQ(sample.sm_clock_mhz, 1200);
  EXPECT_EQ(sample.throttle_reasons, 0x40U);
  EXPECT_DOUBLE_EQ(sample.device_time_us, bursts * 690);
}

TEST(MeasurementTest, EnoughCoolLaunchesMakeASoundSample) {
  StoppingRule rule = kFourLaunches;
  rule.target_relative_error = 1e-9;
  Measurement measurement = Start(rule);
  ASSERT_TRUE(measurement.Add(Times({100, 100.1, 100.2, 100.3})).ok());
  while (!measurement.done()) {
    ASSERT_TRUE(measurement.Add(Throttled({160, 160})).ok());
  }
  EXPECT_EQ(measurement.Result().launches, 4);
  EXPECT_FALSE(measurement.Result().throttled);
}

TEST(MeasurementTest, LaunchesOfAStalledHostAreMeasuredAgainAndThenSuspect) {
  Measurement measurement = Start();
  LaunchTimes stalled = Times({100, 100, 900, 100});
  stalled.host_stalled = true;
  while (!measurement.done()) ASSERT_TRUE(measurement.Add(stalled).ok());
  EXPECT_TRUE(measurement.Result().suspect);
  EXPECT_FALSE(measurement.Result().throttled);
}

TEST(MeasurementTest, WhatADeviceSaysOfItsLaunchesIsInTheSample) {
  LaunchTimes times = Times({100, 100, 100, 100});
#define WAVETUNE_SET(fact, of_both) \
  times.fact = static_cast<decltype(times.fact)>(3);
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_SET)
#undef WAVETUNE_SET
  Measurement measurement = Start();
  while (!measurement.done()) ASSERT_TRUE(measurement.Add(times).ok());

  const Sample sample = measurement.Result();
#define WAVETUNE_EXPECT(fact, of_both) EXPECT_EQ(sample.fact, times.fact);
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_EXPECT)
#undef WAVETUNE_EXPECT
}

TEST(MeasurementTest, TheClockIsThatOfTheSlowestBurstThatSaysIt) {
  LaunchTimes times = Times({100, 100, 100, 140});
  Measurement measurement = Start();
  for (const int32_t clock_mhz : {1500, 0, 1200, 1980}) {
    times.sm_clock_mhz = clock_mhz;
    ASSERT_TRUE(measurement.Add(times).ok());
  }
  EXPECT_EQ(measurement.Result().sm_clock_mhz, 1200);
}

TEST(MeasurementTest, RefusesTimesThatCannotBe) {
  Measurement measurement = Start();
  EXPECT_EQ(measurement.Add(Times({})).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(measurement.Add(Times({100, 0})).code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(
      measurement.Add(Times({100, std::numeric_limits<double>::quiet_NaN()}))
          .code(),
      absl::StatusCode::kInternal);
  ASSERT_TRUE(measurement.Add(Times({100, 100, 100, 100})).ok());
  EXPECT_EQ(measurement.Result().launches, 4);
}

}  // namespace
}  // namespace wavetune
