#include "profiler_agent/link/agent_devices.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(WorkersThatFitTest, ACoreEachOfAffinityAndQuota) {
  EXPECT_EQ(WorkersThatFit({.affinity_cpus = 8}, 1), 8);
  EXPECT_EQ(WorkersThatFit({.affinity_cpus = 256}, 1), 16);
  EXPECT_EQ(WorkersThatFit({.affinity_cpus = 64, .quota_cpus = 1.5}, 1), 2);
  EXPECT_EQ(WorkersThatFit({.affinity_cpus = 64, .quota_cpus = 0.25}, 1), 1);
}

TEST(WorkersThatFitTest, AndAsManyAsMemoryHoldsForAllDevices) {
  HostResources host{.affinity_cpus = 8, .memory_free_bytes = 230 * kMiB};
  EXPECT_EQ(WorkersThatFit(host, 1), 1);
  host.memory_free_bytes = 2048 * kMiB;
  EXPECT_EQ(WorkersThatFit(host, 1), 8);
  EXPECT_EQ(WorkersThatFit(host, 2), 4);
  EXPECT_EQ(WorkersThatFit(host, 8), 1);
}

}  // namespace
}  // namespace wavetune
