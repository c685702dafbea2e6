#include "profiler_agent/measure/power_cap_history.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(PowerCapHistoryTest, LowIsFarBelowTheHighestClockSeen) {
  PowerCapHistory history;
  EXPECT_FALSE(history.knows_clocks());
  EXPECT_FALSE(history.IsLow(1400));
  history.See({.launch_us = {100}, .sm_clock_mhz = 1980});
  history.See({.launch_us = {100}, .sm_clock_mhz = 1400});
  EXPECT_TRUE(history.knows_clocks());
  EXPECT_TRUE(history.IsLow(1400));
  EXPECT_FALSE(history.IsLow(1790));
  EXPECT_FALSE(history.IsLow(1980));
}

TEST(PowerCapHistoryTest, EachKernelHasLevelsOfItsOwn) {
  PowerCapHistory history;
  history.Of("f1")[3] = {.clock_mhz = 1400, .capped = true};
  EXPECT_TRUE(history.Of("f1").at(3).capped);
  EXPECT_TRUE(history.Of("f2").empty());
}

}  // namespace
}  // namespace wavetune
