#include "server/store/fake_stores.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/store/device_store_contract_test.h"
#include "server/store/event_store_contract_test.h"
#include "server/store/fake_event_store.h"
#include "server/store/fake_fleet_head_store.h"
#include "server/store/fake_usage_store.h"
#include "server/store/fake_workload_store.h"
#include "server/store/faulty_stores.h"
#include "server/store/fleet_head_store_contract_test.h"
#include "server/store/job_store_contract_test.h"
#include "server/store/sample_store_contract_test.h"
#include "server/store/table_store_contract_test.h"
#include "server/store/usage_store_contract_test.h"
#include "server/store/workload_store_contract_test.h"

namespace wavetune::testing {
namespace {

class FakeTables : public TableStoreUnderTest {
 public:
  TableStore& store() override { return store_; }
  void Corrupt(const std::string& digest) override { store_.Corrupt(digest); }

 private:
  FakeTableStore store_;
};

std::shared_ptr<SampleStore> MakeSamples(int64_t limit_bytes) {
  return std::make_shared<FakeSampleStore>(limit_bytes);
}
std::unique_ptr<TableStoreUnderTest> MakeTables() {
  return std::make_unique<FakeTables>();
}
std::shared_ptr<JobStore> MakeJobs() {
  return std::make_shared<FakeJobStore>();
}
std::shared_ptr<DeviceStore> MakeDevices() {
  return std::make_shared<FakeDeviceStore>();
}
std::shared_ptr<UsageStore> MakeUsage() {
  return std::make_shared<FakeUsageStore>();
}
std::shared_ptr<WorkloadStore> MakeWorkloads() {
  return std::make_shared<FakeWorkloadStore>();
}
std::shared_ptr<EventStore> MakeEvents() {
  return std::make_shared<FakeEventStore>();
}

std::shared_ptr<FleetHeadStore> MakeFleetHeads() {
  return std::make_shared<FakeFleetHeadStore>();
}

INSTANTIATE_TEST_SUITE_P(Fake, FleetHeadStoreContractTest,
                         ::testing::Values(MakeFleetHeads));
INSTANTIATE_TEST_SUITE_P(Fake, EventStoreContractTest,
                         ::testing::Values(MakeEvents));
INSTANTIATE_TEST_SUITE_P(Fake, SampleStoreContractTest,
                         ::testing::Values(MakeSamples));
INSTANTIATE_TEST_SUITE_P(Fake, TableStoreContractTest,
                         ::testing::Values(MakeTables));
INSTANTIATE_TEST_SUITE_P(Fake, JobStoreContractTest,
                         ::testing::Values(MakeJobs));
INSTANTIATE_TEST_SUITE_P(Fake, DeviceStoreContractTest,
                         ::testing::Values(MakeDevices));
INSTANTIATE_TEST_SUITE_P(Fake, UsageStoreContractTest,
                         ::testing::Values(MakeUsage));
INSTANTIATE_TEST_SUITE_P(Fake, WorkloadStoreContractTest,
                         ::testing::Values(MakeWorkloads));

TEST(FaultySampleStoreTest, FailsTheCallsItIsToldTo) {
  FakeSampleStore fake;
  FaultySampleStore store(&fake);
  const std::vector<SampleRecord> samples = {TestSample(1)};
  store.writes().Fail(absl::ResourceExhaustedError("disk full"), /*skip=*/1,
                      /*times=*/1);
  EXPECT_TRUE(store.Append(TestKey(), 1, samples, {}).ok());
  EXPECT_EQ(store.Append(TestKey(), 1, samples, {}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store.Append(TestKey(), 1, samples, {}).ok());
  EXPECT_EQ(store.Load(TestKey(), 1)->samples.size(), 2u);
}

TEST(FaultySampleStoreTest, FailsForeverUntilHealed) {
  FakeSampleStore fake;
  FaultySampleStore store(&fake);
  store.reads().Fail(absl::InternalError("I/O error"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(store.GetStats().status().code(), absl::StatusCode::kInternal);
  }
  store.reads().Heal();
  EXPECT_TRUE(store.GetStats().ok());
}

}  // namespace
}  // namespace wavetune::testing
