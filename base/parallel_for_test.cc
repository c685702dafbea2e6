#include "base/parallel_for.h"

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/host_resources.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::Each;

TEST(ParallelForTest, EachIndexComesOnceOnAnyNumberOfThreads) {
  for (const size_t threads : {0, 1, 2, 7, 64}) {
    std::vector<int> calls(1000);
    ParallelFor(
        calls.size(), [&](size_t i) { ++calls[i]; }, threads);
    EXPECT_THAT(calls, Each(1)) << threads << " threads";
  }
}

TEST(ParallelForTest, NoStepsAreNone) {
  ParallelFor(0, [](size_t) { FAIL(); });
}

TEST(ParallelForTest, StepsRunBesideEachOther) {
  // Each waits for the other: one thread alone would never end.
  std::atomic<int> arrived = 0;
  std::mutex mutex;
  std::set<std::thread::id> ids;
  ParallelFor(
      2,
      [&](size_t) {
        ++arrived;
        while (arrived < 2) std::this_thread::yield();
        std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      },
      2);
  EXPECT_EQ(ids.size(), 2);
}

TEST(ParallelForTest, CallsFromSeveralThreadsDoNotMix) {
  std::vector<std::vector<size_t>> seen(4, std::vector<size_t>(100));
  ParallelFor(
      seen.size(),
      [&](size_t caller) {
        ParallelFor(
            100, [&](size_t i) { seen[caller][i] = i; }, 3);
      },
      4);
  std::vector<size_t> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_THAT(seen, Each(expected));
}

TEST(ComputeThreadsTest, AreFewEnoughForAHostThatServes) {
  EXPECT_GE(ComputeThreads(), 1);
  EXPECT_LE(ComputeThreads(), 8);
  EXPECT_LE(ComputeThreads(),
            static_cast<size_t>(UsableCpus(ReadHostResources())));
}

}  // namespace
}  // namespace wavetune
