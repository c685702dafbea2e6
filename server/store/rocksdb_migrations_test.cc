// A store that an earlier release wrote opens, and has all that it had.
#include "server/store/rocksdb_migrations.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/rocksdb_open.h"
#include "server/store/rocksdb_store.h"
#include "server/store/stored_records.h"
#include "server/test_folder.h"
#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the store of schema 1 holds (tests/data/stores/README.md).
constexpr char kOld[] = "effc9df28834a484";
constexpr char kNew[] = "0c2765169ecfc1db";

class MigrationTest : public ::testing::Test {
 protected:
  // The committed store is left as it is.
  MigrationTest() : path_(folder_ / "store") {
    std::filesystem::copy(WAVETUNE_SOURCE_DIR "/tests/data/stores/schema_1",
                          path_);
  }

  const TestFolder folder_;
  const std::string path_;
};

TEST_F(MigrationTest, AStoreOfSchema1HasWhatItHad) {
  const auto store = RocksDbStore::Open({.path = path_});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->schema_version(), kSchemaVersion);
  const auto serving = (*store)->tables().ListServing();
  ASSERT_TRUE(serving.ok()) << serving.status();
  ASSERT_THAT(*serving, SizeIs(2));
  for (const TableRecord& record : *serving) {
    EXPECT_EQ(record.key.kernel, "repeats");
    EXPECT_EQ(record.how, PromotionKind::kNotRecorded);
    EXPECT_TRUE((*store)->tables().Get(record.digest).ok());
    const auto candidates = (*store)->samples().LoadCandidates(record.key, 1);
    ASSERT_TRUE(candidates.ok()) << candidates.status();
    EXPECT_THAT(*candidates, SizeIs(6));
  }
  const auto jobs = (*store)->jobs().List(10);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ((*jobs)[0].reason, "edited");
  EXPECT_EQ((*jobs)[0].by, "");
  EXPECT_THAT((*store)->devices().List().value(), SizeIs(1));
  EXPECT_THAT((*store)->tables().ListPins().value(), IsEmpty());
  const auto report = (*store)->Check();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
}

TEST_F(MigrationTest, AStoreOfSchema1GetsAHistoryToRollBackIn) {
  const auto store = RocksDbStore::Open({.path = path_});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto serving = (*store)->tables().ListServing();
  ASSERT_TRUE(serving.ok()) << serving.status();
  ASSERT_THAT(*serving, SizeIs(2));
  const auto history =
      (*store)->tables().History("repeats", serving->front().key.silicon_key);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_THAT(*history, SizeIs(2));
  EXPECT_EQ((*history)[0].digest.substr(0, 16), kNew);
  EXPECT_EQ((*history)[1].digest.substr(0, 16), kOld);
  // What is promoted next joins it.
  const auto payload = (*store)->tables().Get((*history)[1].digest);
  ASSERT_TRUE(payload.ok()) << payload.status();
  ASSERT_TRUE(
      (*store)->tables().Promote(payload->record, payload->payload).ok());
  EXPECT_THAT((*store)
                  ->tables()
                  .History("repeats", serving->front().key.silicon_key)
                  .value(),
              SizeIs(3));
}

TEST_F(MigrationTest, WhatSchema1HadWithdrawnIsInTheHistoryAsWithdrawn) {
  TableRecord withdrawn;
  {
    // As a daemon of then withdrew the newer of the two.
    const auto database =
        RocksDbDatabase::Open({.path = path_, .schema_version = 1});
    ASSERT_TRUE(database.ok()) << database.status();
    const auto records = (*database)->ReadAll<TableRecord>(
        Family::kTables, kServingPrefix,
        [](absl::string_view, absl::string_view value) {
          return DecodeStoredTableRecord(value);
        });
    ASSERT_TRUE(records.ok()) << records.status();
    withdrawn = *std::max_element(
        records->begin(), records->end(),
        [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
    StoreBatch batch;
    batch.Delete(Family::kTables, ServingKey(withdrawn.key));
    withdrawn.epoch += 1;
    withdrawn.withdrawn = "BM=64 computes wrong results";
    batch.Put(Family::kTables, WithdrawnKey(withdrawn.key),
              EncodeStoredTableRecord(withdrawn));
    (*database)->PutNumber("epoch", withdrawn.epoch, batch);
    ASSERT_TRUE((*database)->Write(batch, /*sync=*/true, "withdraw").ok());
  }
  const auto store = RocksDbStore::Open({.path = path_});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT((*store)->tables().ListWithdrawn().value(),
              ElementsAre(withdrawn));
  const auto history =
      (*store)->tables().History("repeats", withdrawn.key.silicon_key);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_THAT(*history, SizeIs(2));
  EXPECT_EQ((*history)[0], withdrawn);
  EXPECT_EQ((*history)[1].withdrawn, "");
}

TEST_F(MigrationTest, AMigratedStoreStaysMigrated) {
  std::string store_id;
  {
    const auto store = RocksDbStore::Open({.path = path_});
    ASSERT_TRUE(store.ok()) << store.status();
    store_id = (*store)->store_id();
  }
  const auto again = RocksDbStore::Open({.path = path_});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->store_id(), store_id);
  EXPECT_EQ((*again)->database().GetNumber(kSchemaVersionName).value(),
            static_cast<uint64_t>(kSchemaVersion));
}

TEST_F(MigrationTest, ADaemonOfBeforeRefusesAMigratedStore) {
  ASSERT_TRUE(RocksDbStore::Open({.path = path_}).ok());
  const absl::Status status =
      RocksDbDatabase::Open({.path = path_, .schema_version = 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("written by a newer wavetuned"));
}

}  // namespace
}  // namespace wavetune::testing
