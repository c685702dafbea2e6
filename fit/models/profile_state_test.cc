#include "fit/models/profile_state.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(HeldOutTest, TwelveOfManyAQuarterOfSomeNoneOfFew) {
  const auto count = [](size_t n) {
    size_t held_out = 0;
    for (size_t i = 0; i < n; ++i) held_out += IsHeldOut(i, n) ? 1 : 0;
    return held_out;
  };
  EXPECT_EQ(count(414), 12u);
  EXPECT_EQ(count(24), 12u);
  EXPECT_EQ(count(20), 5u);
  EXPECT_EQ(count(7), 0u);
  EXPECT_EQ(count(1), 0u);
}

}  // namespace
}  // namespace wavetune
