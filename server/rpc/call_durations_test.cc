#include "server/rpc/call_durations.h"

#include <gtest/gtest.h>

#include <numeric>

namespace wavetune {
namespace {

using std::chrono::microseconds;

TEST(CallDurationsTest, ACallIsInTheBucketThatItFitsIn) {
  CallDurations::Method method("M");
  method.Add(microseconds(50), absl::StatusCode::kOk);
  method.Add(microseconds(51), absl::StatusCode::kOk);
  method.Add(std::chrono::seconds(11), absl::StatusCode::kNotFound);
  const CallDurations::Counts counts = method.counts();
  EXPECT_EQ(counts.buckets[0], 1u);
  EXPECT_EQ(counts.buckets[1], 1u);
  EXPECT_EQ(counts.buckets.back(), 1u);
  EXPECT_NEAR(counts.sum_s, 11.000101, 1e-9);
  EXPECT_EQ(counts.codes[0], 2u);
  EXPECT_EQ(counts.codes[5], 1u);
}

TEST(CallDurationsTest, EveryCallIsInOneBucketAndUnderOneCode) {
  CallDurations::Method method("M");
  for (int code = 0; code <= 20; ++code)
    method.Add(microseconds(1 << code), static_cast<absl::StatusCode>(code));
  const CallDurations::Counts counts = method.counts();
  EXPECT_EQ(std::accumulate(counts.buckets.begin(), counts.buckets.end(), 0u),
            21u);
  EXPECT_EQ(std::accumulate(counts.codes.begin(), counts.codes.end(), 0u), 21u);
  EXPECT_EQ(counts.codes[2], 5u) << "unknown codes count as UNKNOWN";
}

TEST(CallDurationsTest, ATimerCountsAndHandsTheStatusOn) {
  CallDurations::Method& method = CallDurations::Of("CallDurationsTest");
  const CallTimer timer(method);
  EXPECT_TRUE(absl::IsNotFound(timer.Done(absl::NotFoundError("no"))));
  EXPECT_EQ(&CallDurations::Of("CallDurationsTest"), &method);
  bool found = false;
  for (const CallDurations::Counts& counts : CallDurations::All()) {
    if (counts.method != "CallDurationsTest") continue;
    found = true;
    EXPECT_EQ(counts.codes[5], 1u);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace wavetune
