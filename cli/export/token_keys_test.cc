#include "cli/export/token_keys.h"

#include <cstdlib>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/lcg.h"

namespace wavetune::cli {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> KeysFrom(const std::vector<int64_t>& keys, int64_t first) {
  std::vector<int64_t> result;
  for (const int64_t key : keys) {
    if (key >= first) result.push_back(key);
  }
  return result;
}

TEST(TokenKeysTest, BeyondTheFirstsBothSidesOfAChangeAndTheLastAreKeys) {
  std::vector<Configuration> choices(200, Configuration{1});
  for (size_t i = 99; i < choices.size(); ++i) choices[i] = Configuration{2};
  const std::vector<int64_t> keys = KeyTokens(choices);
  EXPECT_EQ(keys.size(), 64u + 3);
  EXPECT_THAT(KeysFrom(keys, 65), ElementsAre(99, 100, 200));
}

TEST(TokenKeysTest, FewTokensAreAllKeys) {
  EXPECT_THAT(KeyTokens(std::vector<Configuration>(3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(KeyTokens({}), ElementsAre());
}

TEST(TokenKeysTest, TheNearestKeyHasTheChoiceOfEveryCount) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    testing::Lcg random(seed);
    std::vector<Configuration> choices;
    while (choices.size() < 3000) {
      const auto run =
          static_cast<size_t>(random.OneIn(3) ? 1 : random.Between(1, 400));
      choices.insert(choices.end(), run, Configuration{random.Below(4)});
    }
    const std::vector<int64_t> keys = KeyTokens(choices);
    for (size_t i = 0; i < choices.size(); ++i) {
      const auto tokens = static_cast<int64_t>(i) + 1;
      // The last of equally near ones: the order must not matter.
      int64_t nearest = keys[0];
      for (const int64_t key : keys) {
        if (std::abs(key - tokens) <= std::abs(nearest - tokens)) nearest = key;
      }
      ASSERT_EQ(choices[static_cast<size_t>(nearest) - 1], choices[i])
          << "seed " << seed << ", " << tokens << " tokens";
    }
  }
}

}  // namespace
}  // namespace wavetune::cli
