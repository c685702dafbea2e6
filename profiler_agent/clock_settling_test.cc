#include "profiler_agent/clock_settling.h"

#include <limits>

#include "gtest/gtest.h"
#include "model/throttling.h"

namespace wavetune {
namespace {

using Load = PowerCapHistory::Load;

// A device under the power limit runs at 1,400 MHz, else at 1,980.
LaunchTimes Burst(double us, bool capped) {
  LaunchTimes times;
  times.launch_us = {us};
  times.sm_clock_mhz = capped ? 1400 : 1980;
  if (capped) times.throttle_reasons = kPowerCap;
  return times;
}

class ClockSettlingTest : public ::testing::Test {
 protected:
  ClockSettlingTest() { history_.IsCapped(Burst(1, false)); }

  // Takes bursts of 10 ms until one counts; returns how many did not, at most
  // 100.
  static int Discarded(ClockSettling& settling, bool capped) {
    int discarded = 0;
    while (discarded < 100 && !settling.Counts(Burst(10e3, capped))) {
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
  LaunchTimes times = Burst(1, true);
  times.sm_clock_mhz = 0;
  EXPECT_TRUE(settling.Counts(times));
  EXPECT_EQ(history.Of("f1").At(3), Load::kUnknown);
}

TEST_F(ClockSettlingTest, AnUnknownLevelIsTriedTwiceAndThenLight) {
  for (int batch = 0; batch < 2; ++batch) {
    ClockSettling settling(history_, kernel_);
    settling.Begin(3);
    EXPECT_EQ(Discarded(settling, false), 14);
  }
  ClockSettling settling(history_, kernel_);
  for (const int level : {1, 3}) {  // What is below it, too.
    settling.Begin(level);
    EXPECT_TRUE(settling.Counts(Burst(1e3, false)));
  }
  settling.Begin(4);
  EXPECT_FALSE(settling.Counts(Burst(1e3, false)));
}

TEST_F(ClockSettlingTest, AnUnknownLevelThatIsCappedIsHeatedFromThenOn) {
  {
    ClockSettling settling(history_, kernel_);
    settling.Begin(3);
    EXPECT_EQ(Discarded(settling, true), 14);
    EXPECT_EQ(kernel_.At(3), Load::kCapped);
  }
  ClockSettling settling(history_, kernel_);
  settling.Begin(5);
  EXPECT_FALSE(settling.Counts(Burst(11e3, false)));
  EXPECT_TRUE(settling.Counts(Burst(11e3, true)));
}

TEST_F(ClockSettlingTest, HeatingEndsWhereTheLoadNeverReachesTheLimit) {
  kernel_.SetCapped(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  EXPECT_EQ(Discarded(settling, false), 15);
  EXPECT_TRUE(settling.Counts(Burst(10e3, false)));
  settling.Begin(4);  // Of a batch, not of a level.
  EXPECT_TRUE(settling.Counts(Burst(10e3, false)));
}

TEST_F(ClockSettlingTest, ALightLevelWaitsUntilTheClocksAreBack) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  EXPECT_FALSE(settling.Counts(Burst(10e3, true)));
  EXPECT_FALSE(settling.Counts(Burst(10e3, true)));
  EXPECT_TRUE(settling.Counts(Burst(10e3, false)));
  EXPECT_EQ(kernel_.At(2), Load::kLight);
}

TEST_F(ClockSettlingTest, ALightLevelThatStaysCappedIsNotLight) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  EXPECT_EQ(Discarded(settling, true), 14);
  EXPECT_EQ(kernel_.At(2), Load::kCapped);
  EXPECT_EQ(kernel_.At(3), Load::kCapped);
}

TEST_F(ClockSettlingTest, AGlitchMakesNoLevelHeavy) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(settling.Counts(Burst(10e3, false)));
    EXPECT_FALSE(settling.Counts(Burst(10e3, true)));
  }
  EXPECT_EQ(kernel_.At(2), Load::kLight);
}

TEST_F(ClockSettlingTest, OneCappedBurstAtTheEndOfATryMakesNoLevelHeavy) {
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  for (int i = 0; i < 14; ++i) {
    EXPECT_FALSE(settling.Counts(Burst(10e3, false)));
  }
  EXPECT_TRUE(settling.Counts(Burst(10e3, true)));
  EXPECT_EQ(kernel_.At(3), Load::kUnknown);
}

TEST_F(ClockSettlingTest, TinyBurstsDoNotGoOnForEver) {
  kernel_.SetCapped(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  int discarded = 0;
  while (!settling.Counts(Burst(1e-9, false))) ++discarded;
  EXPECT_EQ(discarded, 1500);
}

TEST_F(ClockSettlingTest, BrokenTimesAreLeftToTheMeasurement) {
  kernel_.SetCapped(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  for (const double us : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(settling.Counts(Burst(us, false)));
  }
}

}  // namespace
}  // namespace wavetune
