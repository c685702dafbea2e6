#include "base/backoff.h"

#include <set>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using std::chrono::milliseconds;

TEST(BackoffTest, DoublesUpToTheLongest) {
  Backoff backoff(milliseconds(100), milliseconds(1000), /*seed=*/1);
  for (const int64_t most : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const int64_t wait = backoff.Next().count();
    EXPECT_GE(wait, most / 2);
    EXPECT_LE(wait, most);
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), milliseconds(100));
}

TEST(BackoffTest, DifferentSeedsWaitDifferently) {
  std::set<int64_t> waits;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Backoff backoff(milliseconds(1000), milliseconds(1000), seed);
    waits.insert(backoff.Next().count());
  }
  EXPECT_GT(waits.size(), 10U);
}

}  // namespace
}  // namespace wavetune
