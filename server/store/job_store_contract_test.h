// What every JobStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_JOB_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_JOB_STORE_CONTRACT_TEST_H_

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/job_store.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using JobStoreFactory = std::shared_ptr<JobStore> (*)();

class JobStoreContractTest : public ::testing::TestWithParam<JobStoreFactory> {
 protected:
  const std::shared_ptr<JobStore> store_ = GetParam()();
};

TEST_P(JobStoreContractTest, IsEmptyAtFirst) {
  EXPECT_THAT(store_->List(10).value(), IsEmpty());
  EXPECT_EQ(store_->Get(0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Get(1).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(JobStoreContractTest, GivesGrowingIdsWhateverTheCallerSet) {
  JobRecord job = TestJob();
  job.id = 77;
  EXPECT_EQ(store_->Create(job)->id, 1u);
  EXPECT_EQ(store_->Create(job)->id, 2u);
}

TEST_P(JobStoreContractTest, ReturnsAllFieldsOfAJob) {
  const JobRecord created = store_->Create(TestJob()).value();
  JobRecord expected = TestJob();
  expected.id = created.id;
  EXPECT_EQ(created, expected);
  EXPECT_EQ(store_->Get(created.id).value(), expected);
}

TEST_P(JobStoreContractTest, OverwritesAJob) {
  JobRecord job = store_->Create(TestJob()).value();
  for (const bool sync : {false, true}) {
    job.done += 10;
    ASSERT_TRUE(store_->Update(job, sync).ok());
    EXPECT_EQ(store_->Get(job.id).value(), job);
  }
}

TEST_P(JobStoreContractTest, RefusesToUpdateAnUnknownJob) {
  JobRecord job = TestJob();
  for (const uint64_t id : {0, 1}) {
    job.id = id;
    EXPECT_EQ(store_->Update(job, true).code(), absl::StatusCode::kNotFound);
  }
  EXPECT_THAT(store_->List(10).value(), IsEmpty());
}

TEST_P(JobStoreContractTest, ListsTheNewestFirst) {
  const JobRecord a = store_->Create(TestJob()).value();
  const JobRecord b = store_->Create(TestJob()).value();
  const JobRecord c = store_->Create(TestJob()).value();
  EXPECT_THAT(store_->List(2).value(), ElementsAre(c, b));
  EXPECT_THAT(store_->List(10).value(), ElementsAre(c, b, a));
  EXPECT_THAT(store_->List(0).value(), IsEmpty());
}

TEST_P(JobStoreContractTest, ForgetsJobsAndNeverTheirIds) {
  const uint64_t first = store_->Create(TestJob()).value().id;
  const uint64_t second = store_->Create(TestJob()).value().id;
  ASSERT_TRUE(store_->Delete({first, 999}).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Get(first).status()));
  EXPECT_THAT(store_->List(10).value(), SizeIs(1));
  ASSERT_TRUE(store_->Delete({second}).ok());
  EXPECT_EQ(store_->Create(TestJob()).value().id, second + 1);
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_JOB_STORE_CONTRACT_TEST_H_
