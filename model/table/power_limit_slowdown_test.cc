#include "model/table/power_limit_slowdown.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(PowerLimitSlowdownTest, SlowsDownWhatIsBeyondOnly) {
  const PowerLimitSlowdown load = {100, 0.25};
  EXPECT_EQ(PowerLimitedUs(load, 80), 80);
  EXPECT_EQ(PowerLimitedUs(load, 100), 100);
  EXPECT_EQ(PowerLimitedUs(load, 180), 200);
  EXPECT_EQ(ShortUs(load, 200), 180);
  EXPECT_EQ(ShortUs(load, 99), 99);
  for (const double us : {1.0, 99.5, 100.5, 250.0, 1e6}) {
    EXPECT_NEAR(ShortUs(load, PowerLimitedUs(load, us)), us, us * 1e-12);
    EXPECT_EQ(PowerLimitedUs({}, us), us);
    EXPECT_EQ(ShortUs({}, us), us);
  }
}

}  // namespace
}  // namespace wavetune
