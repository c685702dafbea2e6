#include "model/kernel/key_difference.h"

#include <gtest/gtest.h>

#include "model/kernel/device.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

TEST(KeyDifferenceTest, NamesOnlyThePartsThatDiffer) {
  EXPECT_EQ(KeyDifference("driver=580;runtime=13.0;power_w=700",
                          "driver=590;runtime=13.0;power_w=600"),
            "driver \"580\", now \"590\", power limit 700 W, now 600 W");
}

TEST(KeyDifferenceTest, EqualKeysDifferInNothing) {
  const std::string key = EnvironmentKey(testing::H200());
  EXPECT_EQ(KeyDifference(key, key), "");
}

TEST(KeyDifferenceTest, ShowsKeysOfAnotherFormWhole) {
  EXPECT_EQ(KeyDifference("a", "driver=1"),
            "environment \"a\", now \"driver=1\"");
  EXPECT_EQ(KeyDifference("", "driver=1"),
            "environment \"\", now \"driver=1\"");
}

}  // namespace
}  // namespace wavetune
