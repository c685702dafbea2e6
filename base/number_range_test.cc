#include "base/number_range.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr NumberRange kSeconds{0.001, 86400};

TEST(NumberRangeTest, TakesItsEnds) {
  for (const char* text : {"0.001", "1", "1e3", "86400"})
    EXPECT_EQ(kSeconds(text), "") << text;
}

TEST(NumberRangeTest, RefusesWhatIsOutsideWithTheRange) {
  for (const char* text : {"0", "-1", "1e300", "1e999", "inf", "-inf", "86401"})
    EXPECT_THAT(kSeconds(text), HasSubstr("give 0.001 to 86400")) << text;
}

TEST(NumberRangeTest, RefusesWhatIsNoNumber) {
  for (const char* text : {"nan", "NaN", "", "ten", "1s"})
    EXPECT_THAT(kSeconds(text), HasSubstr("is no number")) << text;
}

}  // namespace
}  // namespace wavetune
