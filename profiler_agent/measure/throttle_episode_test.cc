#include "profiler_agent/measure/throttle_episode.h"

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kThermal = 0x40;  // Hardware thermal slowdown.
constexpr uint32_t kPower = 0x04;    // The power cap, which is no throttling.

LaunchTimes Burst(uint32_t reasons, int32_t mhz = 1980) {
  return {.throttled = reasons == kThermal,
          .throttle_reasons = reasons,
          .sm_clock_mhz = mhz};
}

class ThrottleEpisodeTest : public ::testing::Test {
 protected:
  void After(const LaunchTimes& burst) {
    const std::string line = episode_.After(burst, now_);
    if (!line.empty()) lines_.push_back(line);
  }

  ThrottleEpisode episode_{"GPU-1"};
  Clock::Duration now_ = seconds(1000);
  std::vector<std::string> lines_;
};

TEST_F(ThrottleEpisodeTest, SaysNothingOfADeviceThatIsNotThrottled) {
  for (int i = 0; i < 100; ++i, now_ += seconds(1)) After(Burst(kPower, 1700));
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_EQ(episode_.End(now_), "");
}

// As seen on an H100 with bad cooling.
TEST_F(ThrottleEpisodeTest, AThousandChangesInFourMinutesAreALineAndItsSum) {
  for (int i = 0; i < 1015; ++i) {
    After(Burst(kThermal, 1500 - i % 7));
    now_ += milliseconds(118);
    After(Burst(0));
    now_ += milliseconds(118);
  }
  EXPECT_THAT(lines_,
              ElementsAre("device GPU-1 is throttled (hardware thermal "
                          "slowdown; down to 1500 MHz): what is measured so is "
                          "measured again after a pause"));
  for (int i = 0; i < 31; ++i, now_ += seconds(1)) After(Burst(0));
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1],
            "device GPU-1 was throttled, in 1,015 of 2,029 bursts within 239 s "
            "(hardware thermal slowdown; down to 1494 MHz), and is not any "
            "more");
  EXPECT_EQ(episode_.End(now_), "");
}

TEST_F(ThrottleEpisodeTest, OneThatLastsIsRememberedEachTenMinutes) {
  for (int i = 0; i <= 1260; ++i, now_ += seconds(1)) After(Burst(kThermal, 0));
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_EQ(lines_[1],
            "device GPU-1 is still throttled, in 601 of 601 bursts within 600 "
            "s (hardware thermal slowdown)");
  EXPECT_EQ(lines_[2],
            "device GPU-1 is still throttled, in 1,201 of 1,201 bursts within "
            "1200 s (hardware thermal slowdown)");
}

TEST_F(ThrottleEpisodeTest, AnEndOfMeasuringSumsUp) {
  After(Burst(kThermal, 990));
  EXPECT_EQ(episode_.End(now_ + minutes(5)),
            "device GPU-1 was throttled, in 1 of 1 bursts within 1 s (hardware "
            "thermal slowdown; down to 990 MHz); nothing is measured any more");
  EXPECT_EQ(episode_.End(now_), "");
}

TEST_F(ThrottleEpisodeTest, APauseOfMeasuringEndsAnEpisodeToo) {
  After(Burst(kThermal, 990));
  now_ += minutes(60);
  After(Burst(kThermal, 1200));
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1],
            "device GPU-1 was throttled, in 1 of 1 bursts within 1 s (hardware "
            "thermal slowdown; down to 990 MHz); nothing is measured any more; "
            "again: device GPU-1 is throttled (hardware thermal slowdown; down "
            "to 1200 MHz): what is measured so is measured again after a "
            "pause");
}

}  // namespace
}  // namespace wavetune
