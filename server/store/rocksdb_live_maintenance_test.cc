#include "server/store/rocksdb_live_maintenance.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/rocksdb_maintenance.h"
#include "server/store/rocksdb_store.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class LiveMaintenanceTest : public ::testing::Test {
 protected:
  LiveMaintenanceTest() {
    auto store = RocksDbStore::Open({.path = directory_.Path("store")});
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    const std::vector<SampleRecord> samples = {TestSample(1)};
    EXPECT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
  }
  StoreMaintenance::Control Control() {
    return {.tell = [this](const std::string& line) { told_.push_back(line); },
            .stop = &stop_};
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<RocksDbStore> store_;
  std::vector<std::string> told_;
  std::atomic<bool> stop_ = false;
};

TEST_F(LiveMaintenanceTest, ABackupOfAnOpenStoreIsRestored) {
  const std::string folder = directory_.Path("backups");
  const auto first = store_->maintenance().BackUp(folder, Control());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(first->size_bytes, 0);
  EXPECT_THAT(first->lines, SizeIs(1));
  EXPECT_THAT(told_, Not(IsEmpty()));
  // It goes on taking writes.
  ASSERT_TRUE(store_->jobs().Create(TestJob()).ok());
  const auto second = store_->maintenance().BackUp(folder, Control());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->lines, SizeIs(2));
  EXPECT_THAT(second->lines.back(), HasSubstr("backup 2 of "));
  const std::string restored = directory_.Path("restored");
  ASSERT_TRUE(RestoreStore(folder, restored).ok());
  const auto store = RocksDbStore::Open({.path = restored});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT((*store)->jobs().List(10).value(), SizeIs(1));
}

TEST_F(LiveMaintenanceTest, ABackupInsideOfTheStoreIsRefused) {
  for (const std::string folder :
       {"store/backups", "store", "store/../store/b"}) {
    const auto result =
        store_->maintenance().BackUp(directory_.Path(folder), Control());
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << folder;
  }
  EXPECT_TRUE(
      store_->maintenance().BackUp(directory_.Path("store_2"), Control()).ok());
}

TEST_F(LiveMaintenanceTest, ACheckCountsWhatIsDamaged) {
  const auto sound = store_->maintenance().Check(Control());
  ASSERT_TRUE(sound.ok()) << sound.status();
  EXPECT_EQ(sound->faults, 0);
  EXPECT_THAT(sound->lines, Contains(HasSubstr("the store is sound")));
  EXPECT_THAT(told_, Contains(HasSubstr("samples: 0 entries read")));
  StoreBatch batch;
  batch.Put(Family::kDevices, "GPU-1", "garbage");
  ASSERT_TRUE(store_->database().Write(batch, /*sync=*/true, "damage").ok());
  const auto damaged = store_->maintenance().Check(Control());
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_EQ(damaged->faults, 1);
  EXPECT_THAT(damaged->lines, Contains(HasSubstr("devices: key GPU-1")));
}

TEST_F(LiveMaintenanceTest, CompactionGivesBackWhatWasDeleted) {
  for (uint64_t generation = 2; generation < 12; ++generation) {
    std::vector<SampleRecord> samples;
    for (int i = 0; i < 500; ++i) samples.push_back(TestSample(i));
    ASSERT_TRUE(
        store_->samples().Append(TestKey(), generation, samples, {}).ok());
  }
  const auto full = store_->maintenance().Compact(Control());
  ASSERT_TRUE(full.ok()) << full.status();
  ASSERT_GT(full->size_bytes, 0);
  ASSERT_TRUE(store_->samples().Prune(TestKey(), 1).ok());
  const auto less = store_->maintenance().Compact(Control());
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LT(less->size_bytes, full->size_bytes);
  EXPECT_THAT(told_, Contains("rewrites samples"));
  EXPECT_THAT(store_->samples().Load(TestKey(), 11)->samples, SizeIs(500));
}

TEST_F(LiveMaintenanceTest, EndsWhenItIsToldTo) {
  stop_ = true;
  EXPECT_TRUE(
      absl::IsCancelled(store_->maintenance().Check(Control()).status()));
  EXPECT_TRUE(
      absl::IsCancelled(store_->maintenance().Compact(Control()).status()));
  stop_ = false;
  EXPECT_TRUE(store_->maintenance().Check(Control()).ok());
}

}  // namespace
}  // namespace wavetune::testing
