// What every FleetHeadStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_CONTRACT_TEST_H_

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/fleet_head_store.h"

namespace wavetune::testing {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using FleetHeadStoreFactory = std::shared_ptr<FleetHeadStore> (*)();

class FleetHeadStoreContractTest
    : public ::testing::TestWithParam<FleetHeadStoreFactory> {
 protected:
  const std::shared_ptr<FleetHeadStore> store_ = GetParam()();
};

TEST_P(FleetHeadStoreContractTest, KeepsTheNewestOfEachKey) {
  EXPECT_THAT(store_->List().value(), IsEmpty());
  const StoredFleetHead newest{.bytes = std::string("\0\xff", 2),
                               .table_epoch = 7,
                               .halted_epoch = 9,
                               .halted_digest = "d",
                               .halted_why = "node b: slower"};
  const StoredFleetHead other{.bytes = "other", .table_epoch = 1};
  ASSERT_TRUE(store_->Put("heads/a/gemm", {"old", 3}).ok());
  ASSERT_TRUE(store_->Put("heads/b/gemm", other).ok());
  ASSERT_TRUE(store_->Put("heads/a/gemm", newest).ok());
  EXPECT_THAT(store_->List().value(),
              UnorderedElementsAre(Pair("heads/a/gemm", newest),
                                   Pair("heads/b/gemm", other)));
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_FLEET_HEAD_STORE_CONTRACT_TEST_H_
