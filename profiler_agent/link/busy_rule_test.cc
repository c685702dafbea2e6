#include "profiler_agent/link/busy_rule.h"

#include "gtest/gtest.h"

namespace wavetune {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(BusyRuleTest, AnIdleOrUnknownDeviceIsNotBusy) {
  EXPECT_EQ(BusyReason("GPU-1", {}, true), "");
  EXPECT_EQ(BusyReason("GPU-1",
                       {.utilisation_percent = 3, .other_processes = 0}, true),
            "");
}

TEST(BusyRuleTest, OtherProcessesCountAlsoWhenTheyDoNothing) {
  DeviceState state = {.utilisation_percent = 0, .other_processes = 1};
  EXPECT_EQ(BusyReason("GPU-1", state, true),
            "GPU-1 is used by 1 other process");
  state = {.utilisation_percent = 93, .other_processes = 2};
  EXPECT_EQ(BusyReason("GPU-1", state, true),
            "GPU-1 is used by 2 other processes, 93 % utilisation");
}

TEST(BusyRuleTest, OurOwnLaunchesAreNoReason) {
  const DeviceState state = {.utilisation_percent = 99, .own_workers = 4};
  EXPECT_EQ(BusyReason("GPU-1", state, false), "");
  EXPECT_EQ(BusyReason("GPU-1", state, true),
            "GPU-1 is used by somebody else: 99 % utilisation");
}

TEST(BusyRuleTest, MemoryTellsOfAServerThatCannotBeSeen) {
  DeviceState state = {.memory_used_bytes = 61 * kGiB,
                       .memory_total_bytes = 140 * kGiB};
  EXPECT_EQ(BusyReason("GPU-1", state, true),
            "GPU-1 is used by somebody else: 62464 of 143360 MiB of its memory "
            "are taken");
  state.own_workers = 1;  // It may be ours.
  EXPECT_EQ(BusyReason("GPU-1", state, true), "");
  state = {.memory_used_bytes = kGiB, .memory_total_bytes = 140 * kGiB};
  EXPECT_EQ(BusyReason("GPU-1", state, true), "");
}

}  // namespace
}  // namespace wavetune
