#include "base/unix_group.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

TEST(UnixGroupTest, FindsAGroupByItsName) {
  const auto root = FindGroup("root");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(*root, 0u);
  EXPECT_EQ(GroupName(0), "root");
}

TEST(UnixGroupTest, TakesANumberWhetherOrNotItHasAName) {
  const auto group = FindGroup("4242");
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(*group, 4242u);
  EXPECT_EQ(GroupName(4242), "4242");
}

TEST(UnixGroupTest, SaysHowToMakeAGroupThatIsNotThere) {
  const auto group = FindGroup("no-such-group");
  EXPECT_TRUE(absl::IsNotFound(group.status()));
  EXPECT_THAT(std::string(group.status().message()),
              HasSubstr("groupadd --system no-such-group"));
}

TEST(UnixGroupTest, RefusesTheNumberThatMeansNoGroup) {
  EXPECT_TRUE(absl::IsInvalidArgument(FindGroup("4294967295").status()));
  EXPECT_FALSE(FindGroup("4294967296").ok());
  EXPECT_FALSE(FindGroup("").ok());
}

}  // namespace
}  // namespace wavetune
