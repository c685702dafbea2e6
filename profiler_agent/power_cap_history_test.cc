#include "profiler_agent/power_cap_history.h"

#include "gtest/gtest.h"
#include "model/throttling.h"

namespace wavetune {
namespace {

using Load = PowerCapHistory::Load;

LaunchTimes At(int32_t sm_clock_mhz, uint32_t reasons) {
  return {.launch_us = {100},
          .throttle_reasons = reasons,
          .sm_clock_mhz = sm_clock_mhz};
}

TEST(PowerCapHistoryTest, CappedIsWhatTheLimitSlowsNoticeably) {
  PowerCapHistory history;
  EXPECT_FALSE(history.IsCapped(At(1980, 0)));
  EXPECT_TRUE(history.IsCapped(At(1400, kPowerCap)));
  EXPECT_FALSE(history.IsCapped(At(1965, kPowerCap)));
  EXPECT_FALSE(history.IsCapped(At(1400, 0x40)));
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

TEST(PowerCapHistoryTest, ALevelIsCappedOnceItOrALowerOneWas) {
  PowerCapHistory history;
  PowerCapHistory::Kernel& kernel = history.Of("f1");
  kernel.SetCapped(3);
  EXPECT_EQ(kernel.At(5), Load::kCapped);
  EXPECT_EQ(kernel.At(2), Load::kUnknown);
  kernel.SetCapped(4);  // Known already.
  EXPECT_EQ(kernel.At(3), Load::kCapped);
}

TEST(PowerCapHistoryTest, WhatIsCappedIsNotLightAnyMore) {
  PowerCapHistory history;
  PowerCapHistory::Kernel& kernel = history.Of("f1");
  kernel.AddUncapped(5);
  kernel.AddUncapped(5);
  kernel.SetCapped(3);
  EXPECT_EQ(kernel.At(3), Load::kCapped);
  EXPECT_EQ(kernel.At(2), Load::kUnknown);
}

}  // namespace
}  // namespace wavetune
