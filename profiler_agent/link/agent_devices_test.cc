#include "profiler_agent/link/agent_devices.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

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

DeviceFacts Found(const std::string& uuid, const std::string& label) {
  return {.uuid = uuid, .label = label, .backend = "cuda"};
}

TEST(EachOnceTest, TheSecondDeviceOfAUuidIsLeftOutAndSaid) {
  const DeviceList list =
      EachOnce({{.backend = "cuda",
                 .found = {.devices = {Found("GPU-0", "vGPU 1"),
                                       Found("GPU-0", "vGPU 2"),
                                       Found("GPU-1", "H100")}}}});
  ASSERT_EQ(list.devices.size(), 2u);
  EXPECT_EQ(list.devices[0].label, "vGPU 1");
  EXPECT_EQ(list.devices[1].label, "H100");
  ASSERT_EQ(list.problems.size(), 1u);
  EXPECT_THAT(list.problems[0],
              HasSubstr("another device, vGPU 2, has the UUID GPU-0 too and is "
                        "left out"));
  EXPECT_FALSE(list.cut_short);
}

TEST(EachOnceTest, AFailureOfOneBackendCutsTheListShortAndHidesNoOther) {
  const DeviceList list = EachOnce(
      {{.backend = "cuda", .found = {.failure = "802"}},
       {.backend = "opencl",
        .found = {.devices = {Found("CL-1", "CPU")}, .note = "only a CPU"}}});
  ASSERT_EQ(list.devices.size(), 1u);
  EXPECT_EQ(list.problems, std::vector<std::string>{"cuda: 802"});
  EXPECT_TRUE(list.cut_short);
}

}  // namespace
}  // namespace wavetune
