// A full disk: writes fail with a clear error, reads go on, and writes go on by
// themselves once there is space.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FullDiskTest : public ::testing::Test {
 protected:
  FullDiskTest() { Reopen(); }

  void Reopen() {
    store_.reset();
    auto store = RocksDbStore::Open({.path = "/store",
                                     .env = env_.get(),
                                     .now_us = [this] { return now_us_; }});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  absl::Status Append(int64_t m) {
    const std::vector<SampleRecord> samples = {TestSample(m)};
    return store_->samples().Append(TestKey(), 1, samples, {});
  }

  rocksdb::Status Flush() {
    return store_->database().db().Flush(
        {}, store_->database().handle(Family::kSamples));
  }

  int64_t now_us_ = 0;
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
  EXPECT_FALSE(Flush().ok());
  EXPECT_EQ(Append(2).code(), absl::StatusCode::kResourceExhausted);
  disk_->set_full(false);
  const absl::Status status = Append(3);
  EXPECT_TRUE(status.ok()) << status;
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
}

// RocksDB's own way to resume takes the log for sound then, and aborts.
TEST_F(FullDiskTest, RecoversWhereNothingIsToBeFlushed) {
  ASSERT_TRUE(Append(1).ok());
  Reopen();
  disk_->set_full(true);
  EXPECT_FALSE(Append(2).ok());
  EXPECT_FALSE(store_->RecoverWrites().ok());
  disk_->set_full(false);
  EXPECT_TRUE(store_->RecoverWrites().ok());
  EXPECT_TRUE(Append(3).ok());
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
}

TEST_F(FullDiskTest, SaysWhyWritesFailUntilTheySucceed) {
  EXPECT_TRUE(store_->WriteProblem().ok());
  disk_->set_full(true);
  EXPECT_FALSE(Append(1).ok());
  EXPECT_THAT(std::string(store_->WriteProblem().message()),
              HasSubstr("the disk of the store is full"));
  disk_->set_full(false);
  // No write has to be asked for.
  EXPECT_TRUE(store_->RecoverWrites().ok());
  EXPECT_TRUE(store_->WriteProblem().ok());
}

TEST_F(FullDiskTest, LogsAtTheDefaultLevelThatWritesFailAndSucceedAgain) {
  FlushLog();  // What other tests said is no repeat.
  ::testing::internal::CaptureStderr();
  disk_->set_full(true);
  EXPECT_FALSE(Append(1).ok());
  disk_->set_full(false);
  EXPECT_TRUE(store_->RecoverWrites().ok());
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("writes fail: "));
  EXPECT_THAT(log, HasSubstr("writes succeed again"));
}

TEST_F(FullDiskTest, NoticesAFlushThatFailsInTheBackground) {
  ASSERT_TRUE(Append(1).ok());
  disk_->Fail(rocksdb::IOStatus::NoSpace("No space left on device"), ".sst");
  EXPECT_FALSE(Flush().ok());
  EXPECT_EQ(store_->WriteProblem().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1)));
  disk_->Heal();
  EXPECT_TRUE(store_->RecoverWrites().ok());
  EXPECT_TRUE(Append(2).ok());
  EXPECT_TRUE(Flush().ok());
}

TEST_F(FullDiskTest, NoticesACompactionThatFailsInTheBackground) {
  for (int m = 1; m <= 2; ++m) {
    ASSERT_TRUE(Append(m).ok());
    ASSERT_TRUE(Flush().ok());
  }
  disk_->Fail(rocksdb::IOStatus::NoSpace("No space left on device"), ".sst");
  RocksDbDatabase& database = store_->database();
  EXPECT_FALSE(
      database.db()
          .CompactRange({}, database.handle(Family::kSamples), nullptr, nullptr)
          .ok());
  EXPECT_EQ(store_->WriteProblem().code(),
            absl::StatusCode::kResourceExhausted);
  disk_->Heal();
  EXPECT_TRUE(store_->RecoverWrites().ok());
  EXPECT_TRUE(Append(3).ok());
  EXPECT_TRUE(
      database.db()
          .CompactRange({}, database.handle(Family::kSamples), nullptr, nullptr)
          .ok());
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(2), TestSample(3)));
}

// There is space, and yet the database cannot be opened anew.
TEST_F(FullDiskTest, TriesForEverToOpenAnewWithPauses) {
  ASSERT_TRUE(Append(1).ok());
  disk_->set_full(true);
  EXPECT_FALSE(Append(2).ok());
  disk_->Fail(rocksdb::IOStatus::IOError("Input/output error"), ".dbtmp");
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Append(2).ok());
    EXPECT_FALSE(store_->RecoverWrites().ok());
    EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
                ElementsAre(TestSample(1)));
    now_us_ += 30'000'000;
  }
  EXPECT_FALSE(Append(2).ok());
  disk_->Heal();
  EXPECT_FALSE(Append(2).ok());  // Not before the pause has passed.
  now_us_ += 30'000'000;
  EXPECT_TRUE(Append(3).ok());
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
}

TEST_F(FullDiskTest, RecoversWhereOnlySyncingFails) {
  ASSERT_TRUE(Append(1).ok());
  disk_->FailSyncs();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Append(2).ok());
  EXPECT_FALSE(store_->WriteProblem().ok());
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1)));
  disk_->Heal();
  now_us_ += 30'000'000;
  EXPECT_TRUE(Append(3).ok());
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
}

struct Shortage {
  const char* error;
  const char* what_to_do;
};

class ShortageTest : public FullDiskTest,
                     public ::testing::WithParamInterface<Shortage> {};

TEST_P(ShortageTest, SaysWhatRanOutAndRecovers) {
  ASSERT_TRUE(Append(1).ok());
  disk_->Fail(rocksdb::IOStatus::IOError("While appending", GetParam().error));
  const absl::Status status = Append(2);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().what_to_do));
  disk_->Heal();
  EXPECT_TRUE(Append(3).ok());
  Reopen();
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(3)));
}

INSTANTIATE_TEST_SUITE_P(
    Shortages, ShortageTest,
    ::testing::Values(Shortage{std::strerror(EDQUOT), "raise it or free space"},
                      Shortage{std::strerror(EFBIG), "LimitFSIZE"},
                      Shortage{std::strerror(EMFILE), "LimitNOFILE"},
                      Shortage{std::strerror(ENFILE), "LimitNOFILE"}));

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
