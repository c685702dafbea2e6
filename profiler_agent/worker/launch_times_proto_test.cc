#include "profiler_agent/worker/launch_times_proto.h"

#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(LaunchTimesProtoTest, TimesCrossThePipe) {
  const LaunchTimes times =
      LaunchTimesFromProto(LaunchTimesToProto({.launch_us = {7, 8},
                                               .launches_per_timing = 4,
                                               .warmup_us = 9,
                                               .host_stalled = true}));
  EXPECT_EQ(times.launch_us, (std::vector<double>{7, 8}));
  EXPECT_EQ(times.launches_per_timing, 4);
  EXPECT_EQ(times.warmup_us, 9);
  EXPECT_TRUE(times.host_stalled);
}

TEST(LaunchTimesProtoTest, AnEarlierWorkerTimesEachLaunchByItself) {
  EXPECT_EQ(LaunchTimesFromProto({}).launches_per_timing, 1);
}

TEST(LaunchTimesProtoTest, WhatADeviceSaysOfItsLaunchesCrossesThePipe) {
  LaunchTimes sent;
#define WAVETUNE_SET(fact, of_both) \
  sent.fact = static_cast<decltype(sent.fact)>(3);
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_SET)
#undef WAVETUNE_SET
  const LaunchTimes times = LaunchTimesFromProto(LaunchTimesToProto(sent));
#define WAVETUNE_EXPECT(fact, of_both) EXPECT_EQ(times.fact, sent.fact);
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_EXPECT)
#undef WAVETUNE_EXPECT
}

}  // namespace
}  // namespace wavetune
