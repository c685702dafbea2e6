#include "base/recent_map.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(RecentMapTest, TheOneUsedLongestAgoMakesRoom) {
  RecentMap<int> map(2);
  map.Put("a", 1);
  map.Put("b", 2);
  ASSERT_NE(map.Find("a"), nullptr);
  map.Put("c", 3);
  EXPECT_EQ(map.Find("b"), nullptr);
  ASSERT_NE(map.Find("a"), nullptr);
  EXPECT_EQ(*map.Find("a"), 1);
  EXPECT_EQ(*map.Find("c"), 3);
  EXPECT_EQ(map.size(), 2U);
}

TEST(RecentMapTest, AKeyHasOneValueTheLast) {
  RecentMap<int> map(2);
  map.Put("a", 1);
  map.Put("b", 2);
  map.Put("a", 3);
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(*map.Find("a"), 3);
  map.Erase("a");
  map.Erase("never there");
  EXPECT_EQ(map.Find("a"), nullptr);
  EXPECT_EQ(*map.Find("b"), 2);
}

TEST(RecentMapTest, WithALimitOfNoneItKeepsNothing) {
  RecentMap<int> map;
  map.Put("a", 1);
  EXPECT_EQ(map.Find("a"), nullptr);
}

}  // namespace
}  // namespace wavetune
