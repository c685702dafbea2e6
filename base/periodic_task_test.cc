#include "base/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

namespace wavetune {
namespace {

constexpr std::chrono::hours kNever(24);
constexpr std::chrono::minutes kPatience(1);

TEST(PeriodicTaskTest, RunsWhenAsked) {
  std::atomic<int> runs = 0;
  PeriodicTask task;
  task.Start(kNever, [&runs] { ++runs; });
  EXPECT_TRUE(task.RunSoon(kPatience));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(task.RunSoon(kPatience));
  EXPECT_EQ(runs, 2);
  task.Stop();
  EXPECT_FALSE(task.RunSoon(kPatience)) << "it has ended";
}

TEST(PeriodicTaskTest, WhoAsksDoesNotWaitForASlowRun) {
  std::mutex slow;
  std::unique_lock hold(slow);
  PeriodicTask task;
  task.Start(kNever, [&slow] { std::lock_guard lock(slow); });
  EXPECT_FALSE(task.RunSoon(std::chrono::milliseconds(1)));
  hold.unlock();
}

}  // namespace
}  // namespace wavetune
