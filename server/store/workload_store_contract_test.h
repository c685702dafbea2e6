// What every WorkloadStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_WORKLOAD_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_WORKLOAD_STORE_CONTRACT_TEST_H_

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/store_contract_test_records.h"
#include "server/store/workload_store.h"

namespace wavetune::testing {

using WorkloadStoreFactory = std::shared_ptr<WorkloadStore> (*)();

class WorkloadStoreContractTest
    : public ::testing::TestWithParam<WorkloadStoreFactory> {
 protected:
  const std::shared_ptr<WorkloadStore> store_ = GetParam()();
};

TEST_P(WorkloadStoreContractTest, IsEmptyAtFirst) {
  EXPECT_THAT(store_->List().value(), ::testing::IsEmpty());
}

TEST_P(WorkloadStoreContractTest, ListsByName) {
  for (const char* name : {"llama", "a", "qwen"}) {
    ASSERT_TRUE(store_->Put(TestWorkload(name)).ok());
  }
  EXPECT_THAT(store_->List().value(),
              ::testing::ElementsAre(TestWorkload("a"), TestWorkload("llama"),
                                     TestWorkload("qwen")));
}

TEST_P(WorkloadStoreContractTest, GetsWhatWasPutLast) {
  WorkloadRecord record = TestWorkload("a");
  ASSERT_TRUE(store_->Put(record).ok());
  record.config = std::string("\0\xff", 2);
  record.tensor_parallel = 8;
  record.routing = {.popularity = Popularity::kEven, .counts = {7, 0}};
  ASSERT_TRUE(store_->Put(record).ok());
  EXPECT_EQ(store_->Get("a").value(), record);
  EXPECT_THAT(store_->List().value(), ::testing::ElementsAre(record));
}

TEST_P(WorkloadStoreContractTest, SaysWhichIsNotThere) {
  const absl::Status status = store_->Get("nobody").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("nobody"));
}

TEST_P(WorkloadStoreContractTest, DeletesOneAndMindsNoneThatIsNotThere) {
  ASSERT_TRUE(store_->Put(TestWorkload("a")).ok());
  ASSERT_TRUE(store_->Put(TestWorkload("b")).ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_THAT(store_->List().value(),
              ::testing::ElementsAre(TestWorkload("b")));
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_WORKLOAD_STORE_CONTRACT_TEST_H_
