#include "wavetune/configuration.h"

#include <cstdint>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

static_assert(std::is_trivially_copyable_v<Configuration>);

TEST(ConfigurationTest, HoldsItsValuesInOrder) {
  const Configuration configuration({64, 32, 2});
  ASSERT_EQ(configuration.size(), 3);
  EXPECT_EQ(configuration[0], 64);
  EXPECT_EQ(configuration[2], 2);
  EXPECT_EQ(configuration.values().size(), 3u);
}

TEST(ConfigurationTest, DropsValuesBeyondTheLargestCount) {
  const std::vector<int64_t> many(kMaxParameters + 5, 7);
  EXPECT_EQ(Configuration(many).size(), kMaxParameters);
}

TEST(ConfigurationTest, ComparesByValuesThenBySize) {
  EXPECT_EQ(Configuration({1, 2}), Configuration({1, 2}));
  EXPECT_LT(Configuration({1, 2}), Configuration({1, 3}));
  EXPECT_LT(Configuration({1, 2}), Configuration({2, 1}));
  EXPECT_NE(Configuration({1}), Configuration({1, 0}));
}

}  // namespace
}  // namespace wavetune
