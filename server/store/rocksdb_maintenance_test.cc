#include "server/store/rocksdb_maintenance.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

TEST(CheckTest, CountsTheEntriesOfASoundStore) {
  MemoryStore store;
  const std::vector<SampleRecord> samples = {TestSample(1), TestSample(2)};
  const std::vector<CandidateRecord> candidates = {TestCandidate(64, "")};
  ASSERT_TRUE(store->samples().Append(TestKey(), 1, samples, candidates).ok());
  ASSERT_TRUE(store->tables().Promote(TestTable(TestKey()), "a").ok());
  ASSERT_TRUE(store->jobs().Create(TestJob()).ok());
  ASSERT_TRUE(store->devices().Put(TestDevice("GPU-1")).ok());
  const StoreReport report = store->Check().value();
  EXPECT_TRUE(report.ok()) << report.ToString();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.ToString(), HasSubstr("samples: 4 entries"));
  EXPECT_THAT(report.ToString(), HasSubstr("tables: 3 entries"));
  EXPECT_THAT(report.ToString(), HasSubstr("jobs: 1 entries"));
  EXPECT_THAT(report.ToString(), HasSubstr("devices: 1 entries"));
  EXPECT_THAT(report.ToString(), HasSubstr("sound"));
}

TEST(CheckTest, NamesEachEntryThatIsDamaged) {
  MemoryStore store;
  const std::vector<SampleRecord> samples = {TestSample(1)};
  ASSERT_TRUE(store->samples().Append(TestKey(), 1, samples, {}).ok());
  const TableRecord table =
      store->tables().Promote(TestTable(TestKey()), "a").value();
  store.Overwrite(Family::kTables, PayloadKey(table.digest), "garbage");
  store.Overwrite(Family::kDevices, "GPU-1", "garbage");
  const StoreReport report = store->Check().value();
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.problems, Contains(HasSubstr("devices: key GPU-1")));
  EXPECT_THAT(report.problems, Contains(HasSubstr("tables: key p")));
  EXPECT_THAT(report.problems,
              Contains(HasSubstr("serves table " + table.digest)));
  EXPECT_EQ(report.corrupt, 3);
}

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    auto store = RocksDbStore::Open({.path = path_});
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    const std::vector<SampleRecord> samples = {TestSample(1)};
    EXPECT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
    table_ = store_->tables().Promote(TestTable(TestKey()), "a").value();
  }
  absl::Status Backup() { return store_->Backup(backup_); }
  absl::Status Restore() { return RestoreStore(backup_, restored_); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("store");
  const std::string backup_ = directory_.Path("backup");
  const std::string restored_ = directory_.Path("restored");
  std::unique_ptr<RocksDbStore> store_;
  TableRecord table_;
};

TEST_F(BackupTest, RestoresWhatTheStoreHeldAtTheTime) {
  ASSERT_TRUE(Backup().ok());
  ASSERT_TRUE(store_->tables().Promote(TestTable(TestKey()), "later").ok());
  const absl::Status status = Restore();
  ASSERT_TRUE(status.ok()) << status;
  const auto restored = RocksDbStore::Open({.path = restored_});
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_THAT((*restored)->tables().ListServing().value(), ElementsAre(table_));
  EXPECT_EQ((*restored)->tables().Get(table_.digest)->payload, "a");
  EXPECT_THAT((*restored)->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1)));
  EXPECT_TRUE((*restored)->Check()->ok());
  // Clients saw later revisions of the old store: they must start anew.
  EXPECT_NE((*restored)->store_id(), store_->store_id());
  EXPECT_FALSE(fs::exists(restored_ + ".restoring"));
}

TEST_F(BackupTest, RestoresTheNewestBackupAndKeepsFew) {
  for (int i = 0; i < kBackupsKept + 2; ++i) {
    ASSERT_TRUE(store_->jobs().Create(TestJob()).ok());
    ASSERT_TRUE(Backup().ok());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(backup_ + "/private"), {}),
            kBackupsKept);
  ASSERT_TRUE(Restore().ok());
  const auto restored = RocksDbStore::Open({.path = restored_});
  EXPECT_THAT((*restored)->jobs().List(100).value(), SizeIs(kBackupsKept + 2));
}

TEST_F(BackupTest, RefusesToRestoreOverAStore) {
  ASSERT_TRUE(Backup().ok());
  const absl::Status status = RestoreStore(backup_, path_);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(store_->jobs().Create(TestJob()).ok());
}

TEST_F(BackupTest, SaysThatThereIsNoBackup) {
  EXPECT_EQ(Restore().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(backup_));
  fs::create_directory(backup_);
  EXPECT_EQ(Restore().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(restored_));
}

TEST_F(BackupTest, LeavesNothingBehindWhenTheBackupIsDamaged) {
  ASSERT_TRUE(Backup().ok());
  for (const auto& entry : fs::recursive_directory_iterator(backup_)) {
    const bool log = entry.path().extension() == ".log";
    if (log) std::ofstream(entry.path(), std::ios::in) << "garbage";
  }
  const absl::Status status = Restore();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_FALSE(fs::exists(restored_));
  EXPECT_FALSE(fs::exists(restored_ + ".restoring"));
}

}  // namespace
}  // namespace wavetune::testing
