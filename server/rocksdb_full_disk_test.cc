// A full disk: writes fail with a clear error, reads go on, and writes go on by
// themselves once there is space.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/registry/store_contract_test_records.h"
#include "server/rocksdb_test_support.h"

namespace wavetune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FullDiskTest : public ::testing::Test {
 protected:
  FullDiskTest() { Reopen(); }

  void Reopen() {
    store_.reset();
    auto store = RocksDbStore::Open({.path = "/store", .env = env_.get()});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  absl::Status Append(int64_t m) {
    const std::vector<SampleRecord> samples = {TestSample(m)};
    return store_->samples().Append(TestKey(), 1, samples, {});
  }

  const std::unique_ptr<rocksdb::Env> memory_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
  const std::shared_ptr<FaultyFileSystem> disk_ =
      std::make_shared<FaultyFileSystem>(memory_->GetFileSystem());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
  std::unique_ptr<RocksDbStore> store_;
};

TEST_F(FullDiskTest, RefusesWritesServesReadsAndRecovers) {
  ASSERT_TRUE(Append(1).ok());
  const TableRecord table =
      store_->tables().Promote(TestTable(TestKey()), "payload").value();

  disk_->set_full(true);
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = Append(2);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("disk"));
  }
  EXPECT_EQ(
      store_->tables().Promote(TestTable(TestKey()), "new").status().code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->jobs().Create(TestJob()).status().code(),
            absl::StatusCode::kResourceExhausted);
  // Reads go on, and nothing of the failed writes shows.
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1)));
  EXPECT_EQ(store_->samples().GetStats()->samples, 1);
  EXPECT_THAT(store_->tables().ListServing().value(), ElementsAre(table));
  EXPECT_EQ(store_->tables().Get(table.digest)->payload, "payload");
  EXPECT_EQ(store_->tables().Revision(), table.revision);

  disk_->set_full(false);
  const absl::Status status = Append(3);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(store_->tables().Promote(TestTable(TestKey()), "new")->epoch, 2u);
  EXPECT_EQ(store_->jobs().Create(TestJob())->id, 1u);
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
  EXPECT_EQ(store_->tables().Revision(), 2u);
}

TEST_F(FullDiskTest, RecoversFromAFailedFlush) {
  ASSERT_TRUE(Append(1).ok());
  disk_->set_full(true);
  rocksdb::DB& db = store_->database().db();
  EXPECT_FALSE(db.Flush({}, store_->database().handle(Family::kSamples)).ok());
  EXPECT_EQ(Append(2).code(), absl::StatusCode::kResourceExhausted);
  disk_->set_full(false);
  const absl::Status status = Append(3);
  EXPECT_TRUE(status.ok()) << status;
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
}

TEST_F(FullDiskTest, KeepsWhatWasAcknowledgedWhenStoppedWhileFull) {
  ASSERT_TRUE(Append(1).ok());
  disk_->set_full(true);
  EXPECT_FALSE(Append(2).ok());
  store_.reset();
  disk_->set_full(false);
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1)));
  EXPECT_TRUE(Append(3).ok());
}

}  // namespace
}  // namespace wavetune::testing
