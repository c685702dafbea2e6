#include "profiler_agent/clock_settling.h"

#include <limits>
#include <optional>

#include "gtest/gtest.h"
#include "model/throttling.h"

namespace wavetune {
namespace {

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

  void MakeLight(int level) { kernel_.uncapped[level] = 2; }

  PowerCapHistory history_;
  PowerCapHistory::Kernel& kernel_ = history_.Of("f1");
};

TEST_F(ClockSettlingTest, CappedIsWhatTheLimitSlowsNoticeably) {
  EXPECT_TRUE(history_.IsCapped(Burst(1, true)));
  EXPECT_FALSE(history_.IsCapped(Burst(1, false)));
  LaunchTimes dip = Burst(1, true);
  dip.sm_clock_mhz = 1965;
  EXPECT_FALSE(history_.IsCapped(dip));
  LaunchTimes heat = Burst(1, true);
  heat.throttle_reasons = 0x40;
  EXPECT_FALSE(history_.IsCapped(heat));
}

TEST_F(ClockSettlingTest, EverythingCountsWhereNoClockIsKnown) {
  PowerCapHistory history;
  ClockSettling settling(history, history.Of("f1"));
  settling.Begin(3);
  LaunchTimes times = Burst(1, true);
  times.sm_clock_mhz = 0;
  EXPECT_TRUE(settling.Counts(times));
  EXPECT_TRUE(history.Of("f1").uncapped.empty());
}

TEST_F(ClockSettlingTest, AnUnknownLevelIsTriedTwiceAndThenLight) {
  for (int batch = 0; batch < 2; ++batch) {
    ClockSettling settling(history_, kernel_);
    settling.Begin(3);
    EXPECT_EQ(Discarded(settling, false), 9);
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
    EXPECT_EQ(Discarded(settling, true), 9);
    EXPECT_EQ(kernel_.lowest_capped, 3);
  }
  ClockSettling settling(history_, kernel_);
  settling.Begin(5);
  EXPECT_FALSE(settling.Counts(Burst(11e3, false)));
  EXPECT_TRUE(settling.Counts(Burst(11e3, true)));
}

TEST_F(ClockSettlingTest, HeatingEndsWhereTheLoadNeverReachesTheLimit) {
  kernel_.lowest_capped = 3;
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  EXPECT_EQ(Discarded(settling, false), 10);
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
  EXPECT_EQ(kernel_.lowest_capped, std::nullopt);
}

TEST_F(ClockSettlingTest, ALightLevelThatStaysCappedIsNotLight) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  EXPECT_EQ(Discarded(settling, true), 14);
  EXPECT_EQ(kernel_.lowest_capped, 2);
  EXPECT_TRUE(kernel_.uncapped.empty());
}

TEST_F(ClockSettlingTest, AGlitchMakesNoLevelHeavy) {
  MakeLight(3);
  ClockSettling settling(history_, kernel_);
  settling.Begin(2);
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(settling.Counts(Burst(10e3, false)));
    EXPECT_FALSE(settling.Counts(Burst(10e3, true)));
  }
  EXPECT_EQ(kernel_.lowest_capped, std::nullopt);
}

TEST_F(ClockSettlingTest, BurstsWithoutATimeDoNotGoOnForEver) {
  kernel_.lowest_capped = 3;
  ClockSettling settling(history_, kernel_);
  settling.Begin(3);
  int discarded = 0;
  while (!settling.Counts(Burst(0, false))) ++discarded;
  EXPECT_EQ(discarded, 1000);
  EXPECT_TRUE(
      settling.Counts(Burst(std::numeric_limits<double>::quiet_NaN(), false)));
}

}  // namespace
}  // namespace wavetune
