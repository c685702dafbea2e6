#include "profiler_agent/power_cap_history.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using Load = PowerCapHistory::Load;

LaunchTimes At(int32_t sm_clock_mhz) {
  return {.launch_us = {100}, .sm_clock_mhz = sm_clock_mhz};
}

TEST(PowerCapHistoryTest, LowIsNoticeablyBelowTheHighestClockSeen) {
  PowerCapHistory history;
  EXPECT_FALSE(history.IsLow(At(1400)));
  EXPECT_FALSE(history.IsLow(At(1980)));
  EXPECT_TRUE(history.IsLow(At(1400)));
  EXPECT_FALSE(history.IsLow(At(1935)));
  EXPECT_TRUE(history.IsLow(At(1905)));
  EXPECT_EQ(history.highest_clock_mhz(), 1980);
}

TEST(PowerCapHistoryTest, ALevelIsLightOnceItAndHigherOnesWereTriedTwice) {
  PowerCapHistory history;
  PowerCapHistory::Kernel& kernel = history.Of("f1");
  kernel.AddUncapped(3);
  EXPECT_EQ(kernel.At(3), Load::kUnknown);
  kernel.AddUncapped(3);
  EXPECT_EQ(kernel.At(3), Load::kLight);
  EXPECT_EQ(kernel.At(-1), Load::kLight);
  EXPECT_EQ(kernel.At(4), Load::kUnknown);
  kernel.AddUncapped(5);
  EXPECT_EQ(kernel.At(4), Load::kUnknown);
  kernel.AddUncapped(6);
  EXPECT_EQ(kernel.At(5), Load::kLight);
  EXPECT_EQ(kernel.At(6), Load::kUnknown);
  EXPECT_EQ(history.Of("f2").At(3), Load::kUnknown);
}

TEST(PowerCapHistoryTest, EachCappedLevelHasAClockOfItsOwn) {
  PowerCapHistory history;
  PowerCapHistory::Kernel& kernel = history.Of("f1");
  kernel.SetCapped(3, 1700);
  EXPECT_EQ(kernel.At(3), Load::kCapped);
  EXPECT_EQ(kernel.ClockOf(3), 1700);
  EXPECT_FALSE(kernel.IsAboveCapped(3));
  EXPECT_EQ(kernel.At(5), Load::kUnknown);
  EXPECT_EQ(kernel.ClockOf(5), std::nullopt);
  EXPECT_TRUE(kernel.IsAboveCapped(5));
  EXPECT_EQ(kernel.At(2), Load::kUnknown);
  kernel.SetCapped(5, 1400);
  EXPECT_EQ(kernel.ClockOf(5), 1400);
  EXPECT_EQ(kernel.ClockOf(3), 1700);
}

TEST(PowerCapHistoryTest, AClockStaysAsItWasFirstSet) {
  PowerCapHistory history;
  PowerCapHistory::Kernel& kernel = history.Of("f1");
  kernel.SetCapped(3, 1700);
  kernel.SetCapped(3, 1400);
  EXPECT_EQ(kernel.ClockOf(3), 1700);
}

TEST(PowerCapHistoryTest, ALightLevelStaysSoWhenALowerOneTurnsOutToBeCapped) {
  PowerCapHistory history;
  PowerCapHistory::Kernel& kernel = history.Of("f1");
  kernel.AddUncapped(5);
  kernel.AddUncapped(5);
  kernel.SetCapped(3, 1900);
  EXPECT_EQ(kernel.At(3), Load::kCapped);
  EXPECT_EQ(kernel.At(5), Load::kLight);
}

}  // namespace
}  // namespace wavetune
