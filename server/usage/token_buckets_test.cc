#include "server/usage/token_buckets.h"

#include <gtest/gtest.h>

#include <string>

#include "base/fake_clock.h"

namespace wavetune {
namespace {

class TokenBucketsTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  TokenBuckets buckets_{{.per_second = 10, .at_once = 100, .most_keys = 3},
                        &clock_};
};

TEST_F(TokenBucketsTest, IsFullAtFirstAndFillsAtItsRate) {
  EXPECT_EQ(buckets_.TakeUpTo("a", 30), 30);
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12), 70);
  EXPECT_EQ(buckets_.TakeUpTo("a", 1), 0);
  clock_.Advance(2);
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12), 20);
  clock_.Advance(1e6);
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12), 100);
}

TEST_F(TokenBucketsTest, ANewOneHoldsWhatWhoTakesFirstSays) {
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12, 40), 40);
  // It is not new any more.
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12, 40), 0);
  clock_.Advance(1);
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12, 40), 10);
  EXPECT_EQ(buckets_.TakeUpTo("b", 1e12, 1e12), 100);
}

TEST_F(TokenBucketsTest, OneTakesNothingFromAnother) {
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12), 100);
  EXPECT_EQ(buckets_.TakeUpTo("b", 50), 50);
}

TEST_F(TokenBucketsTest, AClockThatIsSetBackTakesNothingAway) {
  buckets_.TakeUpTo("a", 60);
  clock_.Advance(-3600);
  EXPECT_EQ(buckets_.TakeUpTo("a", 1e12), 40);
}

TEST_F(TokenBucketsTest, RemembersWhoTookMost) {
  buckets_.TakeUpTo("greedy", 1e12);
  for (int i = 0; i < 1000; ++i)
    buckets_.TakeUpTo("new " + std::to_string(i), 1);
  EXPECT_EQ(buckets_.keys(), 3u);
  EXPECT_EQ(buckets_.TakeUpTo("greedy", 1), 0);
}

}  // namespace
}  // namespace wavetune
