#include "model/kernel/throttling.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(ThrottlingTest, HeatAndBrakesThrottleAndThePowerCapDoesNot) {
  EXPECT_FALSE(IsThrottled(0));
  EXPECT_FALSE(IsThrottled(0x1 | 0x2 | 0x4 | 0x10 | 0x100));
  for (const uint32_t reason : {0x08U, 0x20U, 0x40U, 0x80U}) {
    EXPECT_TRUE(IsThrottled(reason | 0x4)) << reason;
  }
}

TEST(ThrottlingTest, NamesReasonsAsPeopleKnowThem) {
  EXPECT_EQ(ThrottleText(0), "");
  EXPECT_EQ(ThrottleText(0x40 | 0x80),
            "hardware thermal slowdown, hardware power brake");
  EXPECT_EQ(ThrottleText(0x04 | 0x100), "power cap");
}

}  // namespace
}  // namespace wavetune
