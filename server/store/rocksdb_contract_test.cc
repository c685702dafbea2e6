// The RocksDB stores keep the contracts that the fakes keep.
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "server/store/device_store_contract_test.h"
#include "server/store/event_store_contract_test.h"
#include "server/store/fleet_head_store_contract_test.h"
#include "server/store/job_store_contract_test.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/rocksdb_store.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/sample_store_contract_test.h"
#include "server/store/table_store_contract_test.h"
#include "server/store/usage_store_contract_test.h"
#include "server/store/workload_store_contract_test.h"

namespace wavetune::testing {
namespace {

class RocksDbTables : public TableStoreUnderTest {
 public:
  TableStore& store() override { return store_->tables(); }
  void Corrupt(const std::string& digest) override {
    store_.Overwrite(Family::kTables, PayloadKey(digest), "garbage");
  }

 private:
  MemoryStore store_;
};

std::shared_ptr<SampleStore> MakeSamples(int64_t limit_bytes) {
  const auto store = std::make_shared<MemoryStore>(limit_bytes);
  return {store, &(*store)->samples()};
}
std::unique_ptr<TableStoreUnderTest> MakeTables() {
  return std::make_unique<RocksDbTables>();
}
std::shared_ptr<JobStore> MakeJobs() {
  const auto store = std::make_shared<MemoryStore>();
  return {store, &(*store)->jobs()};
}
std::shared_ptr<DeviceStore> MakeDevices() {
  const auto store = std::make_shared<MemoryStore>();
  return {store, &(*store)->devices()};
}
std::shared_ptr<UsageStore> MakeUsage() {
  const auto store = std::make_shared<MemoryStore>();
  return {store, &(*store)->usage()};
}
std::shared_ptr<WorkloadStore> MakeWorkloads() {
  const auto store = std::make_shared<MemoryStore>();
  return {store, &(*store)->workloads()};
}
std::shared_ptr<EventStore> MakeEvents() {
  const auto store = std::make_shared<MemoryStore>();
  return {store, &(*store)->events()};
}

std::shared_ptr<FleetHeadStore> MakeFleetHeads() {
  const auto store = std::make_shared<MemoryStore>();
  return {store, &(*store)->fleet_heads()};
}

INSTANTIATE_TEST_SUITE_P(RocksDb, FleetHeadStoreContractTest,
                         ::testing::Values(MakeFleetHeads));
INSTANTIATE_TEST_SUITE_P(RocksDb, EventStoreContractTest,
                         ::testing::Values(MakeEvents));
INSTANTIATE_TEST_SUITE_P(RocksDb, SampleStoreContractTest,
                         ::testing::Values(MakeSamples));
INSTANTIATE_TEST_SUITE_P(RocksDb, TableStoreContractTest,
                         ::testing::Values(MakeTables));
INSTANTIATE_TEST_SUITE_P(RocksDb, JobStoreContractTest,
                         ::testing::Values(MakeJobs));
INSTANTIATE_TEST_SUITE_P(RocksDb, DeviceStoreContractTest,
                         ::testing::Values(MakeDevices));
INSTANTIATE_TEST_SUITE_P(RocksDb, UsageStoreContractTest,
                         ::testing::Values(MakeUsage));
INSTANTIATE_TEST_SUITE_P(RocksDb, WorkloadStoreContractTest,
                         ::testing::Values(MakeWorkloads));

}  // namespace
}  // namespace wavetune::testing
