#include "profiler_agent/clock_settling.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using Load = PowerCapHistory::Load;

constexpr int32_t kFull = 1980;
constexpr int32_t kLow = 1400;

LaunchTimes Burst(double us, int32_t sm_clock_mhz) {
  LaunchTimes times;
  times.launch_us = {us};
  times.sm_clock_mhz = sm_clock_mhz;
  return times;
}

class ClockSettlingTest : public ::testing::Test {
 protected:
  ClockSettlingTest() { history_.IsLow(Burst(1, kFull)); }

  // Takes bursts of 10 ms until one counts; returns how many did not, at most
  // 100.
  static int Discarded(ClockSettling& settling, int32_t sm_clock_mhz) {
    int discarded = 0;
    while (discarded < 100 && !settling.Counts(Burst(10e3, sm_clock_mhz))) {
      ++discarded;
    }
    return discarded;
  }

  void MakeLight(int level) {
    kernel_.AddUncapped(level);
    kernel_.AddUncapped(level);
  }

  PowerCapHistory history_;
  PowerCapHistory::Kernel& kernel_ = history_.Of("f1");
};

TEST_F(ClockSettlingTest, EverythingCountsWhereNoClockIsKnown) {
  PowerCapHistory history;
  ClockSettling settling(history, history.Of("f1"));
  settling.Begin(3);
  const LaunchTimes times = Burst(1, 0);
  EXPECT_TRUE(settling.Counts(times));
  EXPECT_EQ(settling.AtClockOfLevel(times).launch_us, times.launch_us);
  EXPECT_EQ(history.Of("f1").At(3), Load::kUnknown);
}

TEST_F(ClockSettlingTest, AnUnknownLevelIsTriedTwiceAndThenLight) {
  for (int batch = 0; batch < 2; ++batch) {
    ClockSettling settling(history_, kernel_);
    settling.Begin(3);
    EXPECT_EQ(Discarded(settling, kFull), 14);
  }
  ClockSettling settling(history_, kernel_);
  for (const int level : {1, 3}) {  // What is below it, too.
    settling.Begin(level);
    EXPECT_TRUE(settling.Counts(Burst(1e3, kFull)));
  }
  settling.Begin(4);
  EXPECT_FALSE(settling.Counts(Burst(1e3, kFull)));
}

TEST_F(ClockSettlingTest, TheClockOfACappedLevelIsThatAtTheEndOfItsTry) {
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  EXPECT_FALSE(settling.Counts(Burst(10e3, kFull)));
  EXPECT_FALSE(settling.Counts(Burst(10e3, 1700)));
  EXPECT_EQ(Discarded(settling, kLow), 12);
  EXPECT_EQ(kernel_.At(3), Load::kCapped);
  EXPECT_NEAR(*kernel_.ClockOf(3), kLow, 0.03 * kLow);
}

TEST_F(ClockSettlingTest, TimesOfACappedLevelAreTakenToItsClock) {
  kernel_.SetCapped(3, 1500);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  for (const int32_t mhz : {1350, 1500, 1650}) {
    const LaunchTimes times = Burst(1e6 / mhz, mhz);
    ASSERT_TRUE(settling.Counts(times));
    const LaunchTimes taken = settling.AtClockOfLevel(times);
    EXPECT_DOUBLE_EQ(taken.launch_us[0], 1e6 / 1500);
    EXPECT_EQ(taken.sm_clock_mhz, 1500);
  }
}

TEST_F(ClockSettlingTest, TimesOfALightLevelStayAsTheyAre) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  ASSERT_TRUE(settling.Counts(Burst(100, 1950)));
  EXPECT_EQ(settling.AtClockOfLevel(Burst(100, 1950)).launch_us[0], 100);
}

TEST_F(ClockSettlingTest, ALevelAboveACappedOneIsTriedForItsClock) {
  kernel_.SetCapped(3, 1900);
  ClockSettling settling(history_, kernel_);
  settling.Begin(5);
  EXPECT_EQ(Discarded(settling, kFull), 14);  // Slow candidates only, say.
  EXPECT_DOUBLE_EQ(*kernel_.ClockOf(5), kFull);
}

TEST_F(ClockSettlingTest, FarFromItsClockACappedLevelIsHeated) {
  kernel_.SetCapped(3, kLow);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  EXPECT_FALSE(settling.Counts(Burst(11e3, kFull)));
  EXPECT_TRUE(settling.Counts(Burst(11e3, 1600)));
}

TEST_F(ClockSettlingTest, HeatingEndsWhereTheLoadNeverReachesTheLimit) {
  kernel_.SetCapped(3, kLow);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  EXPECT_EQ(Discarded(settling, kFull), 15);
  EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
  kernel_.SetCapped(4, kLow);
  settling.Begin(4);  // Of a batch, not of a level.
  EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
}

TEST_F(ClockSettlingTest, ALightLevelWaitsUntilTheClocksAreBack) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  EXPECT_FALSE(settling.Counts(Burst(10e3, kLow)));
  EXPECT_FALSE(settling.Counts(Burst(10e3, kLow)));
  EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
  EXPECT_EQ(kernel_.At(2), Load::kLight);
}

TEST_F(ClockSettlingTest, ALightLevelThatStaysCappedIsNotLight) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  EXPECT_EQ(Discarded(settling, kLow), 14);
  EXPECT_EQ(kernel_.At(2), Load::kCapped);
  // As what was measured of it before.
  EXPECT_EQ(kernel_.ClockOf(2), kFull);
  EXPECT_EQ(kernel_.At(3), Load::kLight);
}

TEST_F(ClockSettlingTest, AGlitchMakesNoLevelHeavy) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
    EXPECT_FALSE(settling.Counts(Burst(10e3, kLow)));
  }
  EXPECT_EQ(kernel_.At(2), Load::kLight);
}

TEST_F(ClockSettlingTest, OneCappedBurstAtTheEndOfATryMakesNoLevelHeavy) {
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  for (int i = 0; i < 14; ++i) {
    EXPECT_FALSE(settling.Counts(Burst(10e3, kFull)));
  }
  EXPECT_TRUE(settling.Counts(Burst(10e3, kLow)));
  EXPECT_EQ(kernel_.At(3), Load::kUnknown);
}

TEST_F(ClockSettlingTest, TinyBurstsDoNotGoOnForEver) {
  kernel_.SetCapped(3, kLow);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  int discarded = 0;
  while (!settling.Counts(Burst(1e-9, kFull))) ++discarded;
  EXPECT_EQ(discarded, 1500);
}

TEST_F(ClockSettlingTest, BrokenTimesAreLeftToTheMeasurement) {
  kernel_.SetCapped(3, kLow);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  for (const double us : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(settling.Counts(Burst(us, kFull)));
  }
}

}  // namespace
}  // namespace wavetune
