#include "server/agents/device_health.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace wavetune {
namespace {

using std::chrono::seconds;

constexpr uint32_t kHardwareThermal = 0x40;
constexpr uint32_t kPowerCapped = 0x04;

TEST(DeviceHealthTest, IsHotAfterMostOfTheLastLooksWere) {
  DeviceHealth health;
  for (int second = 0; second < 9; ++second) {
    EXPECT_FALSE(health.hot(seconds(second))) << second;
    health.Look({.throttle_reasons = second == 3 ? 0 : kHardwareThermal,
                 .temperature_c = 86},
                seconds(second));
  }
  EXPECT_TRUE(health.hot(seconds(9)));
  EXPECT_EQ(health.Text(seconds(9)),
            "it is hot: 86 °C, hardware thermal slowdown for 8 s");
}

TEST(DeviceHealthTest, ThePowerCapIsNoHeat) {
  DeviceHealth health;
  for (int second = 0; second < 20; ++second) {
    health.Look({.throttle_reasons = kPowerCapped}, seconds(second));
  }
  EXPECT_FALSE(health.hot(seconds(20)));
  EXPECT_EQ(health.Text(seconds(20)), "");
}

TEST(DeviceHealthTest, IsHotAfterHalfOfItsSamplesWere) {
  DeviceHealth health;
  for (int i = 0; i < 15; ++i) {
    EXPECT_FALSE(health.hot(seconds(i)));
    health.TakeSample(i % 2 == 0 ? kHardwareThermal : 0, seconds(i));
  }
  EXPECT_TRUE(health.hot(seconds(15)));
}

TEST(DeviceHealthTest, IsUsableAgainAfterAWhileWithoutHeat) {
  DeviceHealth health;
  for (int second = 0; second < 8; ++second) {
    health.Look({.throttle_reasons = kHardwareThermal}, seconds(second));
  }
  for (int second = 8; second < 37; ++second) {
    health.Look({}, seconds(second));
    EXPECT_TRUE(health.hot(seconds(second))) << second;
  }
  health.Look({}, seconds(37));
  EXPECT_FALSE(health.hot(seconds(37)));
  // What it did before does not count any more.
  health.Look({.throttle_reasons = kHardwareThermal}, seconds(38));
  EXPECT_FALSE(health.hot(seconds(38)));
}

}  // namespace
}  // namespace wavetune
