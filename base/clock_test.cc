#include "base/clock.h"

#include <chrono>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(ClockTest, SleepingOnAFakeOneMovesBothTimesOnAtOnce) {
  FakeClock clock;
  const int64_t now_us = clock.NowUs();
  const Clock::Duration steady = clock.SteadyNow();
  clock.Sleep(seconds(2));
  EXPECT_EQ(clock.NowUs(), now_us + 2'000'000);
  EXPECT_EQ(clock.SteadyNow(), steady + seconds(2));
  EXPECT_THAT(clock.sleeps(), ElementsAre(seconds(2)));
}

TEST(ClockTest, SettingAFakeOneBackLeavesTheSteadyTime) {
  FakeClock clock;
  const int64_t now_us = clock.NowUs();
  const Clock::Duration steady = clock.SteadyNow();
  clock.Advance(-3600);
  EXPECT_EQ(clock.NowUs(), now_us - 3'600'000'000);
  EXPECT_EQ(clock.SteadyNow(), steady);
}

}  // namespace
}  // namespace wavetune
