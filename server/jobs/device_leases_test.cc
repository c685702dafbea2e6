#include "server/jobs/device_leases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

namespace wavetune {
namespace {

TEST(DeviceLeasesTest, ADeviceHasOneHolder) {
  DeviceLeases leases;
  DeviceLease first = leases.TryTake("GPU-1", 7);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(leases.TryTake("GPU-1", 8), nullptr);
  EXPECT_EQ(leases.Holder("GPU-1"), 7u);
  EXPECT_NE(leases.TryTake("GPU-2", 8), nullptr);
  first = nullptr;
  EXPECT_EQ(leases.Holder("GPU-1"), 0u);
  EXPECT_NE(leases.TryTake("GPU-1", 8), nullptr);
}

TEST(DeviceLeasesTest, WhoWaitsGetsTheDeviceBeforeItIsTakenAgain) {
  DeviceLeases leases;
  DeviceLease held = leases.TryTake("GPU-1", 7);
  std::atomic<bool> waits = false;
  DeviceLease taken;
  std::thread waiter([&] {
    taken = leases
                .Take("GPU-1", 8,
                      [&](uint64_t holder) {
                        EXPECT_TRUE(holder == 7u || holder == 0u) << holder;
                        waits.store(true);
                        return absl::OkStatus();
                      })
                .value();
  });
  while (!waits.load()) std::this_thread::yield();
  held = nullptr;
  // Whether or not the waiter has it already.
  EXPECT_EQ(leases.TryTake("GPU-1", 7), nullptr);
  waiter.join();
  EXPECT_EQ(leases.Holder("GPU-1"), 8u);
}

TEST(DeviceLeasesTest, AWaitEndsAsItsJobDoes) {
  DeviceLeases leases;
  DeviceLease held = leases.TryTake("GPU-1", 7);
  const auto lease = leases.Take("GPU-1", 8, [](uint64_t) {
    return absl::CancelledError("cancelled on request");
  });
  EXPECT_TRUE(absl::IsCancelled(lease.status()));
  held = nullptr;
  EXPECT_NE(leases.TryTake("GPU-1", 7), nullptr) << "nobody waits any more";
}

TEST(DeviceLeasesTest, ALeaseMayOutliveItsLeases) {
  DeviceLease lease;
  {
    DeviceLeases leases;
    lease = leases.TryTake("GPU-1", 7);
  }
  lease = nullptr;
}

}  // namespace
}  // namespace wavetune
