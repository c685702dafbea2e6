#include "profiler_agent/measure/clock_settling.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/load_level.h"
#include "profiler_agent/measure/tiny_kernel.h"

namespace wavetune {
namespace {

// Two buffers of n * k floats and of n; the default configuration has tiles of
// 64 and 32 iterations' worth of k.
KernelSpec Spec() {
  KernelSpec spec = TinyKernel("fake").spec;
  spec.arguments = {{.name = "in",
                     .size = Expression::Product({Expression::OfDimension(0),
                                                  Expression::OfDimension(1)})},
                    {.name = "out",
                     .role = ArgumentRole::kOutput,
                     .size = Expression::OfDimension(0)},
                    {.name = "n",
                     .role = ArgumentRole::kScalar,
                     .size = Expression::Constant(1'000'000)}};
  return spec;
}

Problem AtExtents(int64_t n, int64_t k) { return {{n, k}, {}, "plain"}; }

TEST(LoadLevelTest, IsTheOctaveOfWorkTimesIntensity) {
  // 1 tile of 4 iterations over 4 * (64 * 128 + 64) bytes: 16 / 33,024.
  EXPECT_EQ(LoadLevel(Spec(), AtExtents(64, 128)), -12);
  // Four times the work, four times the bytes.
  EXPECT_EQ(LoadLevel(Spec(), AtExtents(256, 128)), -10);
}

TEST(LoadLevelTest, WhatNeedsLessMemoryIsHarder) {
  // One row: the tile is computed all the same, 4 over 4 * (128 + 1) bytes.
  EXPECT_EQ(LoadLevel(Spec(), AtExtents(1, 128)), -6);
}

TEST(LoadLevelTest, WithoutBuffersThereIsALevelStill) {
  EXPECT_EQ(LoadLevel(TinyKernel("fake").spec, AtExtents(64, 4096)), 14);
}

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
  ClockSettlingTest() { history_.See(Burst(1, kFull)); }

  // Takes bursts of 10 ms until one counts; returns how many did not, at most
  // 100.
  static int Discarded(ClockSettling& settling, int32_t sm_clock_mhz) {
    int discarded = 0;
    while (discarded < 100 && !settling.Counts(Burst(10e3, sm_clock_mhz))) {
      ++discarded;
    }
    return discarded;
  }

  // Tries with bursts of 10 ms; returns how many it took, at most 100.
  static int Try(ClockSettling& settling, int32_t sm_clock_mhz) {
    int tries = 0;
    for (; tries < 100 && settling.trying(); ++tries) {
      settling.AddTry(Burst(10e3, sm_clock_mhz));
    }
    return tries;
  }

  PowerCapHistory history_;
  PowerCapHistory::Levels& levels_ = history_.Of("f1");
};

TEST_F(ClockSettlingTest, EverythingCountsWhereNoClockIsKnown) {
  PowerCapHistory history;
  ClockSettling settling(history, history.Of("f1"));
  settling.Begin(3);
  EXPECT_FALSE(settling.trying());
  const LaunchTimes times = Burst(1, 0);
  EXPECT_TRUE(settling.Counts(times));
  EXPECT_EQ(settling.AtClockOfLevel(times).launch_us, times.launch_us);
  EXPECT_FALSE(settling.trying());
}

TEST_F(ClockSettlingTest, TheFirstBurstThatSaysItsClockStartsATry) {
  PowerCapHistory history;
  ClockSettling settling(history, history.Of("f1"));
  settling.Begin(3);
  EXPECT_FALSE(settling.Counts(Burst(1, kFull)));
  EXPECT_TRUE(settling.trying());
}

TEST_F(ClockSettlingTest, ALevelIsTriedOnceInAnAgentsLife) {
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  EXPECT_EQ(Try(settling, kFull), 20);
  EXPECT_FALSE(levels_.at(3).capped);
  EXPECT_DOUBLE_EQ(levels_.at(3).clock_mhz, kFull);
  EXPECT_TRUE(settling.Counts(Burst(1e3, kFull)));
  ClockSettling next(history_, levels_);
  next.Begin(3);
  EXPECT_FALSE(next.trying());
  next.Begin(4);
  EXPECT_TRUE(next.trying());
}

TEST_F(ClockSettlingTest, TheClockOfALevelIsThatAtTheEndOfItsTry) {
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  for (int i = 0; i < 5; ++i) settling.AddTry(Burst(10e3, kFull));
  EXPECT_EQ(Try(settling, kLow), 15);
  EXPECT_TRUE(levels_.at(3).capped);
  EXPECT_NEAR(levels_.at(3).clock_mhz, kLow, 0.03 * kLow);
}

TEST_F(ClockSettlingTest, ALevelThatCannotBeTriedIsLightThisTime) {
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  settling.EndTry();
  EXPECT_FALSE(settling.trying());
  EXPECT_EQ(Discarded(settling, kLow), 14);
  EXPECT_TRUE(levels_.empty());
}

TEST_F(ClockSettlingTest, ATryWithoutAClockOrWithBrokenTimesEnds) {
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  settling.AddTry(Burst(10e3, 0));
  EXPECT_FALSE(settling.trying());
  settling.Begin(3);
  settling.AddTry(Burst(-1, kFull));
  EXPECT_FALSE(settling.trying());
  EXPECT_TRUE(levels_.empty());
}

TEST_F(ClockSettlingTest, TimesOfACappedLevelAreTakenToItsClock) {
  levels_[3] = {.clock_mhz = 1500, .capped = true};
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  for (const int32_t mhz : {1200, 1500, 1650}) {
    const LaunchTimes times = Burst(1e6 / mhz, mhz);
    ASSERT_TRUE(settling.Counts(times));
    const LaunchTimes taken = settling.AtClockOfLevel(times);
    EXPECT_DOUBLE_EQ(taken.launch_us[0], 1e6 / 1500);
    EXPECT_EQ(taken.sm_clock_mhz, 1500);
  }
}

TEST_F(ClockSettlingTest, TimesOfALightLevelStayAsTheyAre) {
  levels_[3] = {.clock_mhz = kFull};
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  ASSERT_TRUE(settling.Counts(Burst(100, 1790)));
  EXPECT_EQ(settling.AtClockOfLevel(Burst(100, 1790)).launch_us[0], 100);
}

TEST_F(ClockSettlingTest, FarAboveItsClockACappedLevelIsHeated) {
  levels_[3] = {.clock_mhz = kLow, .capped = true};
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  EXPECT_FALSE(settling.Counts(Burst(11e3, kFull)));
  EXPECT_TRUE(settling.Counts(Burst(11e3, 1600)));
}

TEST_F(ClockSettlingTest, HeatingEndsWhereTheLoadNeverReachesTheLimit) {
  levels_[3] = levels_[4] = {.clock_mhz = kLow, .capped = true};
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  EXPECT_EQ(Discarded(settling, kFull), 15);
  EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
  settling.Begin(4);  // Of a batch, not of a level.
  EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
}

TEST_F(ClockSettlingTest, ALightLevelWaitsUntilTheClocksAreBack) {
  levels_[2] = {.clock_mhz = kFull};
  ClockSettling settling(history_, levels_);
  settling.Begin(2);
  EXPECT_FALSE(settling.Counts(Burst(10e3, kLow)));
  EXPECT_FALSE(settling.Counts(Burst(10e3, kLow)));
  EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
  EXPECT_FALSE(levels_.at(2).capped);
}

TEST_F(ClockSettlingTest, ALightLevelThatStaysLowIsCappedAndKeepsItsClock) {
  levels_[2] = {.clock_mhz = 1800};
  ClockSettling settling(history_, levels_);
  settling.Begin(2);
  EXPECT_EQ(Discarded(settling, kLow), 14);
  EXPECT_TRUE(levels_.at(2).capped);
  // As what was measured of it before.
  EXPECT_EQ(levels_.at(2).clock_mhz, 1800);
  EXPECT_EQ(settling.AtClockOfLevel(Burst(100, kLow)).sm_clock_mhz, 1800);
}

TEST_F(ClockSettlingTest, AGlitchMakesNoLevelHeavy) {
  levels_[2] = {.clock_mhz = kFull};
  ClockSettling settling(history_, levels_);
  settling.Begin(2);
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(settling.Counts(Burst(10e3, kFull)));
    EXPECT_FALSE(settling.Counts(Burst(10e3, kLow)));
  }
  EXPECT_FALSE(levels_.at(2).capped);
}

TEST_F(ClockSettlingTest, TinyBurstsDoNotGoOnForEver) {
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  int tries = 0;
  for (; settling.trying(); ++tries) settling.AddTry(Burst(1e-9, kLow));
  EXPECT_EQ(tries, 2000);
  int discarded = 0;
  while (!settling.Counts(Burst(1e-9, kFull))) ++discarded;
  EXPECT_EQ(discarded, 1500);
}

TEST_F(ClockSettlingTest, BrokenTimesAreLeftToTheMeasurement) {
  levels_[3] = {.clock_mhz = kLow, .capped = true};
  ClockSettling settling(history_, levels_);
  settling.Begin(3);
  for (const double us : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(settling.Counts(Burst(us, kFull)));
  }
}

}  // namespace

}  // namespace wavetune
