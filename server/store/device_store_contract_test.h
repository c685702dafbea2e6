// What every DeviceStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_DEVICE_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_DEVICE_STORE_CONTRACT_TEST_H_

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/device_store.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using DeviceStoreFactory = std::shared_ptr<DeviceStore> (*)();

class DeviceStoreContractTest
    : public ::testing::TestWithParam<DeviceStoreFactory> {
 protected:
  const std::shared_ptr<DeviceStore> store_ = GetParam()();
};

TEST_P(DeviceStoreContractTest, IsEmptyAtFirst) {
  EXPECT_THAT(store_->List().value(), IsEmpty());
}

TEST_P(DeviceStoreContractTest, ListsDevicesSortedByUuid) {
  for (const char* uuid : {"GPU-b", "GPU-a", "GPU-aa"}) {
    ASSERT_TRUE(store_->Put(TestDevice(uuid)).ok());
  }
  EXPECT_THAT(store_->List().value(),
              ElementsAre(TestDevice("GPU-a"), TestDevice("GPU-aa"),
                          TestDevice("GPU-b")));
}

TEST_P(DeviceStoreContractTest, OverwritesADevice) {
  DeviceRecord device = TestDevice("GPU-a");
  ASSERT_TRUE(store_->Put(device).ok());
  device.facts.driver = "590";
  device.last_seen_us = 99;
  ASSERT_TRUE(store_->Put(device).ok());
  EXPECT_THAT(store_->List().value(), ElementsAre(device));
}

TEST_P(DeviceStoreContractTest, ForgetsADevice) {
  for (const char* uuid : {"GPU-a", "GPU-b"}) {
    ASSERT_TRUE(store_->Put(TestDevice(uuid)).ok());
  }
  ASSERT_TRUE(store_->Delete("GPU-a").ok());
  ASSERT_TRUE(store_->Delete("GPU-a").ok());
  EXPECT_THAT(store_->List().value(), ElementsAre(TestDevice("GPU-b")));
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_DEVICE_STORE_CONTRACT_TEST_H_
