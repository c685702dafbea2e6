// What every UsageStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_USAGE_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_USAGE_STORE_CONTRACT_TEST_H_

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/store_contract_test_records.h"
#include "server/store/usage_store.h"

namespace wavetune::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using UsageStoreFactory = std::shared_ptr<UsageStore> (*)();

class UsageStoreContractTest
    : public ::testing::TestWithParam<UsageStoreFactory> {
 protected:
  const std::shared_ptr<UsageStore> store_ = GetParam()();
};

TEST_P(UsageStoreContractTest, IsEmptyAtFirst) {
  EXPECT_THAT(store_->List().value(), IsEmpty());
}

TEST_P(UsageStoreContractTest, ListsByKernelThenSilicon) {
  for (const char* kernel : {"b", "a"}) {
    for (const char* silicon : {"y", "x"}) {
      ASSERT_TRUE(store_->Put(TestUsage(kernel, silicon)).ok());
    }
  }
  EXPECT_THAT(store_->List().value(),
              ElementsAre(TestUsage("a", "x"), TestUsage("a", "y"),
                          TestUsage("b", "x"), TestUsage("b", "y")));
}

TEST_P(UsageStoreContractTest, OverwritesARecord) {
  UsageRecord record = TestUsage();
  ASSERT_TRUE(store_->Put(record).ok());
  record.problems.clear();
  record.specialisations[""].fitted = 11;
  ASSERT_TRUE(store_->Put(record).ok());
  EXPECT_THAT(store_->List().value(), ElementsAre(record));
}

TEST_P(UsageStoreContractTest, DeletesARecordAndMindsNoneThatIsNotThere) {
  ASSERT_TRUE(store_->Put(TestUsage("a", "x")).ok());
  ASSERT_TRUE(store_->Put(TestUsage("a", "y")).ok());
  EXPECT_TRUE(store_->Delete("a", "x").ok());
  EXPECT_TRUE(store_->Delete("a", "x").ok());
  EXPECT_THAT(store_->List().value(), ElementsAre(TestUsage("a", "y")));
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_USAGE_STORE_CONTRACT_TEST_H_
