// Restart, refusal to open, schema versions.
#include "server/store/rocksdb_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_open.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(RocksDbStoreTest, SeesEverythingAfterARestart) {
  MemoryStore store;
  const std::vector<SampleRecord> samples = {TestSample(1), TestSample(2)};
  const std::vector<CandidateRecord> candidates = {TestCandidate(64, "hung")};
  ASSERT_TRUE(store->samples().Append(TestKey(), 1, samples, candidates).ok());
  const TableRecord table =
      store->tables().Promote(TestTable(TestKey()), "payload").value();
  const JobRecord job = store->jobs().Create(TestJob()).value();
  ASSERT_TRUE(store->devices().Put(TestDevice("GPU-1")).ok());
  const std::string store_id = store->store_id();
  const SampleStore::Stats stats = store->samples().GetStats().value();

  store.Reopen();
  EXPECT_EQ(store->store_id(), store_id);
  const SampleSet set = store->samples().Load(TestKey(), 1).value();
  EXPECT_EQ(set.samples, samples);
  EXPECT_EQ(set.candidates, candidates);
  EXPECT_EQ(store->samples().GetStats()->samples, 2);
  EXPECT_EQ(store->samples().GetStats()->size_bytes, stats.size_bytes);
  EXPECT_THAT(store->tables().ListServing().value(), ElementsAre(table));
  EXPECT_EQ(store->tables().Get(table.digest)->payload, "payload");
  EXPECT_EQ(store->tables().Revision(), 1u);
  EXPECT_THAT(store->jobs().List(10).value(), ElementsAre(job));
  EXPECT_THAT(store->devices().List().value(),
              ElementsAre(TestDevice("GPU-1")));
  EXPECT_EQ(store->corrupt_entries(), 0);
}

TEST(RocksDbStoreTest, GoesOnCountingAfterARestart) {
  MemoryStore store;
  const std::vector<SampleRecord> first = {TestSample(1)};
  const std::vector<SampleRecord> second = {TestSample(2)};
  ASSERT_TRUE(store->samples().Append(TestKey(), 1, first, {}).ok());
  ASSERT_TRUE(store->tables().Promote(TestTable(TestKey()), "a").ok());
  ASSERT_TRUE(store->tables().Retire(TestKey()).ok());
  ASSERT_TRUE(store->jobs().Create(TestJob()).ok());
  store.Reopen();
  ASSERT_TRUE(store->samples().Append(TestKey(), 1, second, {}).ok());
  EXPECT_THAT(store->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(1), TestSample(2)));
  const TableRecord table =
      store->tables().Promote(TestTable(TestKey()), "b").value();
  EXPECT_EQ(table.epoch, 2u);
  EXPECT_EQ(table.revision, 3u);
  EXPECT_EQ(store->jobs().Create(TestJob())->id, 2u);
}

TEST(RocksDbStoreTest, HasAnIdOfItsOwn) {
  MemoryStore a;
  MemoryStore b;
  EXPECT_THAT(a->store_id(), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(a->store_id(), b->store_id());
  EXPECT_EQ(a->schema_version(), kSchemaVersion);
}

TEST(RocksDbStoreTest, SaysWhichProcessHasTheStoreOpen) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("store");
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(done[1]);
    const auto store = RocksDbStore::Open({.path = path});
    char byte = store.ok() ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    if (read(done[0], &byte, 1) != 0) _exit(1);  // Until the parent closes it.
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const absl::Status status = RocksDbStore::Open({.path = path}).status();
  close(done[1]);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(
      Message(status),
      AllOf(HasSubstr("another wavetuned uses the store"), HasSubstr(path),
            HasSubstr(absl::StrCat("pid ", child)), HasSubstr("--store")));
  EXPECT_TRUE(RocksDbStore::Open({.path = path}).ok());
}

TEST(RocksDbStoreTest, RefusesASecondOpenInTheSameProcess) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("store");
  const auto store = RocksDbStore::Open({.path = path});
  ASSERT_TRUE(store.ok()) << store.status();
  const absl::Status status = RocksDbStore::Open({.path = path}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(Message(status), HasSubstr("this very process"));
  // Having been asked did not cost the store its lock or its writes.
  EXPECT_TRUE((*store)->jobs().Create(TestJob()).ok());
}

TEST(RocksDbStoreTest, NamesTheMissingParentDirectory) {
  const TemporaryDirectory directory;
  const absl::Status status =
      RocksDbStore::Open({.path = directory.Path("missing/store")}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(Message(status), HasSubstr("parent directory"));
}

TEST(RocksDbStoreTest, SaysThatPermissionIsDenied) {
  const std::unique_ptr<rocksdb::Env> memory(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  const auto faulty =
      std::make_shared<FaultyFileSystem>(memory->GetFileSystem());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faulty);
  faulty->set_denied(true);
  const absl::Status status =
      RocksDbStore::Open({.path = "/store", .env = env.get()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(Message(status), HasSubstr("read and write access"));
}

TEST(RocksDbStoreTest, SaysThatADirectoryIsReadOnly) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.Path("store"));
  std::filesystem::permissions(
      directory.Path("store"),
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const absl::Status status =
      RocksDbStore::Open({.path = directory.Path("store")}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
}

TEST(RocksDbStoreTest, RefusesADirectoryOfAnotherProgram) {
  const std::unique_ptr<rocksdb::Env> env(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  rocksdb::Options options;
  options.env = env.get();
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, "/store", &db).ok());
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_TRUE(db->CreateColumnFamily({}, "theirs", &family).ok());
  ASSERT_TRUE(db->DestroyColumnFamilyHandle(family).ok());
  delete db;
  const absl::Status status =
      RocksDbStore::Open({.path = "/store", .env = env.get()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(Message(status), HasSubstr("another RocksDB database"));
}

class SchemaTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<RocksDbDatabase>> Open(
      int version, std::vector<RocksDbDatabase::Migration> migrations = {}) {
    return RocksDbDatabase::Open({.path = "/store",
                                  .env = env_.get(),
                                  .schema_version = version,
                                  .migrations = std::move(migrations)});
  }
  // Names and sizes of all files.
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    std::vector<std::string> names;
    EXPECT_TRUE(env_->GetChildren("/store", &names).ok());
    for (const std::string& name : names) {
      uint64_t size = 0;
      EXPECT_TRUE(env_->GetFileSize("/store/" + name, &size).ok());
      files.push_back(absl::StrCat(name, " ", size));
    }
    return files;
  }

  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
};

TEST_F(SchemaTest, RefusesANewerStoreAndWritesNothing) {
  ASSERT_TRUE(Open(kSchemaVersion + 1).ok());
  const std::vector<std::string> before = Files();
  const absl::Status status = Open(kSchemaVersion).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(
      Message(status),
      AllOf(HasSubstr(absl::StrCat("written by a newer wavetuned (schema ",
                                   kSchemaVersion + 1, ", this one knows ",
                                   kSchemaVersion, ")")),
            HasSubstr("upgrade the daemon or restore a backup")));
  EXPECT_EQ(Files(), before);
}

TEST_F(SchemaTest, MigratesStepByStep) {
  std::string store_id = Open(1).value()->store_id();
  std::vector<int> steps;
  const auto step = [&](int from) {
    return RocksDbDatabase::Migration{
        from, [&steps, from](RocksDbDatabase& database, StoreBatch& batch) {
          steps.push_back(from);
          database.PutNumber(absl::StrCat("step", from), 7, batch);
          return absl::OkStatus();
        }};
  };
  const auto database = Open(3, {step(2), step(1)});
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_THAT(steps, ElementsAre(1, 2));
  EXPECT_EQ((*database)->store_id(), store_id);
  EXPECT_EQ((*database)->GetNumber(kSchemaVersionName).value(), 3u);
  EXPECT_EQ((*database)->GetNumber("step2").value(), 7u);
}

TEST_F(SchemaTest, LeavesTheStoreAsItWasWhenAMigrationFails) {
  ASSERT_TRUE(Open(1).ok());
  const auto fail = [](RocksDbDatabase& database, StoreBatch& batch) {
    database.PutNumber("half", 1, batch);
    return absl::DataLossError("cannot read what is there");
  };
  EXPECT_EQ(Open(2, {{1, fail}}).status().code(), absl::StatusCode::kDataLoss);
  const auto database = Open(1);
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ((*database)->GetNumber("half").value(), 0u);
}

TEST_F(SchemaTest, SaysWhenThereIsNoMigration) {
  ASSERT_TRUE(Open(1).ok());
  const absl::Status status = Open(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(Message(status), HasSubstr("cannot migrate"));
}

}  // namespace
}  // namespace wavetune::testing
