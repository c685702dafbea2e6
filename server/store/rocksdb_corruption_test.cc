// Damage: an entry that cannot be used is a counted miss; a store that cannot
// be opened says what to do.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/wavetune/v1/store.pb.h"
#include "rocksdb/version.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/rocksdb_open.h"
#include "server/store/rocksdb_status.h"
#include "server/store/rocksdb_store_record.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"
#include "server/store/stored_usage.h"

namespace wavetune::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

std::string SampleKey(uint64_t sequence) {
  return EntryPrefix(TestKey(), 1, SampleEntry::kSample) + BigEndian(sequence);
}

class CorruptEntryTest : public ::testing::Test {
 protected:
  CorruptEntryTest() {
    const std::vector<SampleRecord> samples = {TestSample(1), TestSample(2),
                                               TestSample(3)};
    EXPECT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
  }

  MemoryStore store_;
};

TEST_F(CorruptEntryTest, LeavesOutAndCountsGarbageSamplesOnce) {
  store_.Overwrite(Family::kSamples, SampleKey(1), "garbage");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
                ElementsAre(TestSample(1), TestSample(3)));
    EXPECT_EQ(store_->corrupt_entries(), 1);
  }
}

TEST_F(CorruptEntryTest, LeavesOutAndCountsANewerFormat) {
  v1::StoredSample sample;
  sample.set_format(2);
  sample.set_latency_us(1);
  store_.Overwrite(Family::kSamples, SampleKey(0), sample.SerializeAsString());
  store_.Overwrite(Family::kSamples, SampleKey(2), "");  // No format at all.
  EXPECT_THAT(store_->samples().Load(TestKey(), 1)->samples,
              ElementsAre(TestSample(2)));
  EXPECT_EQ(store_->corrupt_entries(), 2);
}

TEST_F(CorruptEntryTest, CountsAGenerationAnewWhenItsRecordIsGarbage) {
  const SampleStore::Stats before = store_->samples().GetStats().value();
  store_.Overwrite(Family::kSamples, GenerationKey(TestKey(), 1), "garbage");
  store_.Reopen();
  EXPECT_EQ(store_->samples().GetStats()->samples, before.samples);
  EXPECT_EQ(store_->samples().GetStats()->size_bytes, before.size_bytes);
  EXPECT_EQ(store_->corrupt_entries(), 1);
  const std::vector<SampleRecord> more = {TestSample(4)};
  ASSERT_TRUE(store_->samples().Append(TestKey(), 1, more, {}).ok());
  EXPECT_EQ(store_->samples().Load(TestKey(), 1)->samples.size(), 4u);
}

TEST_F(CorruptEntryTest, ReportsGarbageInPlaceOfATable) {
  const TableRecord table =
      store_->tables().Promote(TestTable(TestKey()), "payload").value();
  v1::StoredTable stored;
  stored.set_format(1);
  stored.mutable_record()->set_digest(table.digest);
  stored.set_payload("another payload");
  for (const std::string& value :
       {std::string("garbage"), std::string(), stored.SerializeAsString()}) {
    store_.Overwrite(Family::kTables, PayloadKey(table.digest), value);
    const absl::Status status = store_->tables().Get(table.digest).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(table.digest), HasSubstr("reprofile")));
  }
  EXPECT_EQ(store_->corrupt_entries(), 1);
}

TEST_F(CorruptEntryTest, LeavesOutAGarbageServingEntryAndCanRetireIt) {
  const TableRecord sound =
      store_->tables().Promote(TestTable(TestKey("sound")), "a").value();
  const TableRecord damaged =
      store_->tables().Promote(TestTable(TestKey()), "b").value();
  store_.Overwrite(Family::kTables, ServingKey(TestKey()), "garbage");
  EXPECT_THAT(store_->tables().ListServing().value(), ElementsAre(sound));
  EXPECT_EQ(store_->corrupt_entries(), 1);
  EXPECT_EQ(store_->tables().Get(damaged.digest)->payload, "b");
  EXPECT_TRUE(store_->tables().Retire(TestKey()).ok());
}

TEST_F(CorruptEntryTest, LeavesOutGarbageJobsAndDevices) {
  const JobRecord first = store_->jobs().Create(TestJob()).value();
  const JobRecord second = store_->jobs().Create(TestJob()).value();
  ASSERT_TRUE(store_->devices().Put(TestDevice("GPU-1")).ok());
  ASSERT_TRUE(store_->devices().Put(TestDevice("GPU-2")).ok());
  store_.Overwrite(Family::kJobs, BigEndian(second.id), "garbage");
  store_.Overwrite(Family::kDevices, "GPU-1", "garbage");
  EXPECT_THAT(store_->jobs().List(10).value(), ElementsAre(first));
  EXPECT_EQ(store_->jobs().Get(second.id).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_THAT(store_->devices().List().value(),
              ElementsAre(TestDevice("GPU-2")));
  EXPECT_EQ(store_->corrupt_entries(), 2);
}

TEST_F(CorruptEntryTest, LeavesOutGarbageUsage) {
  ASSERT_TRUE(store_->usage().Put(TestUsage("a")).ok());
  ASSERT_TRUE(store_->usage().Put(TestUsage("b")).ok());
  ASSERT_TRUE(store_->usage().Put(TestUsage("c")).ok());
  const std::string silicon_key = TestUsage().silicon_key;
  store_.Overwrite(Family::kKernels, UsageKey("a", silicon_key), "garbage");
  // Sound, but another kernel's.
  store_.Overwrite(Family::kKernels, UsageKey("c", silicon_key),
                   EncodeStoredUsage(TestUsage("b")));
  EXPECT_THAT(store_->usage().List().value(), ElementsAre(TestUsage("b")));
  EXPECT_EQ(store_->corrupt_entries(), 2);
  EXPECT_EQ(store_->Check()->corrupt, 1);
}

TEST_F(CorruptEntryTest, KeepsUsageOverARestart) {
  ASSERT_TRUE(store_->usage().Put(TestUsage()).ok());
  store_.Reopen();
  EXPECT_THAT(store_->usage().List().value(), ElementsAre(TestUsage()));
  EXPECT_TRUE(store_->Check()->ok());
}

// Damage of files, on a real disk.
class CorruptFileTest : public ::testing::Test {
 protected:
  static constexpr int kSamples = 2000;

  CorruptFileTest() { Open(); }

  void Open() {
    store_.reset();
    auto store = TryOpen();
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  absl::StatusOr<std::unique_ptr<RocksDbStore>> TryOpen() const {
    return RocksDbStore::Open({.path = path_});
  }
  // Fills families samples and tables and brings them to table files.
  void Fill() {
    std::vector<SampleRecord> samples;
    for (int i = 0; i < kSamples; ++i) samples.push_back(TestSample(i));
    ASSERT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
    table_ = store_->tables().Promote(TestTable(TestKey()), "payload").value();
    ASSERT_TRUE(store_->database()
                    .db()
                    .Flush({}, store_->database().handle(Family::kSamples))
                    .ok());
  }
  // Files whose names start or end so, largest first.
  std::vector<fs::path> Files(const std::string& start,
                              const std::string& end = "") const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(start) && name.ends_with(end)) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      return fs::file_size(a) > fs::file_size(b);
    });
    return files;
  }
  // Inverts bytes in the middle of a file.
  static void Flip(const fs::path& path, int count) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(fs::file_size(path) / 2);
    std::string bytes(static_cast<size_t>(count), '\0');
    file.seekg(middle).read(bytes.data(), count);
    for (char& byte : bytes) byte = static_cast<char>(~byte);
    file.seekp(middle).write(bytes.data(), count);
  }
  // As a crash leaves it: the record beside the database is that of the start.
  void StopWithoutClosing() {
    fs::copy_file(path_ + "/STORE", path_ + ".record");
    store_.reset();
    fs::rename(path_ + ".record", path_ + "/STORE");
  }
  void AppendSome() {
    for (int i = 0; i < 10; ++i) {
      const std::vector<SampleRecord> samples = {TestSample(i)};
      ASSERT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
    }
  }
  // Where the records of a file of RocksDB's log format end.
  static std::vector<size_t> RecordEnds(const fs::path& path) {
    constexpr size_t kHeader = 7;
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<size_t> ends;
    for (size_t at = 0; at + kHeader <= bytes.size();) {
      const size_t length = static_cast<uint8_t>(bytes[at + 4]) +
                            size_t{256} * static_cast<uint8_t>(bytes[at + 5]);
      if (length == 0) break;
      at += kHeader + length;
      ends.push_back(at);
    }
    return ends;
  }
  void ExpectRefusal(const std::string& what) {
    const absl::Status status = TryOpen().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(path_), HasSubstr(what),
                      HasSubstr("restore a backup")));
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("store");
  std::unique_ptr<RocksDbStore> store_;
  TableRecord table_;
};

TEST_F(CorruptFileTest, LosesOnlyWhatWasInADamagedBlock) {
  Fill();
  store_.reset();
  Flip(Files("", ".sst").at(0), 8);
  Open();
  const SampleSet set = store_->samples().Load(TestKey(), 1).value();
  EXPECT_LT(set.samples.size(), size_t{kSamples});
  EXPECT_GT(set.samples.size(), size_t{kSamples} * 8 / 10);
  EXPECT_EQ(set.samples.front(), TestSample(0));
  EXPECT_EQ(set.samples.back(), TestSample(kSamples - 1));
  EXPECT_GE(store_->corrupt_entries(), 1);
  // The rest of the store works.
  EXPECT_EQ(store_->tables().Get(table_.digest)->payload, "payload");
  const std::vector<SampleRecord> more = {TestSample(1)};
  EXPECT_TRUE(store_->samples().Append(TestKey(), 2, more, {}).ok());
  const StoreReport report = store_->Check().value();
  EXPECT_FALSE(report.ok());
}

TEST_F(CorruptFileTest, RefusesAStoreWithoutCurrent) {
  Fill();
  store_.reset();
  const size_t files = Files("").size();
  fs::remove(path_ + "/CURRENT");
  ExpectRefusal("CURRENT");
  EXPECT_EQ(Files("").size(), files - 1);  // Nothing was cleaned up.
}

TEST_F(CorruptFileTest, RefusesGarbageInCurrent) {
  store_.reset();
  std::ofstream(path_ + "/CURRENT") << "garbage";
  ExpectRefusal("CURRENT");
}

TEST_F(CorruptFileTest, RefusesAMissingManifest) {
  store_.reset();
  for (const fs::path& file : Files("MANIFEST")) fs::remove(file);
  ExpectRefusal("MANIFEST");
}

TEST_F(CorruptFileTest, RefusesAMissingLog) {
  AppendSome();
  store_.reset();
  for (const fs::path& file : Files("", ".log")) fs::remove(file);
  const size_t files = Files("").size();
  ExpectRefusal("its write-ahead log is missing");
  EXPECT_EQ(Files("").size(), files);  // Nothing was made or cleaned up.
}

TEST_F(CorruptFileTest, RefusesAMissingLogAfterACrash) {
  AppendSome();
  StopWithoutClosing();
  for (const fs::path& file : Files("", ".log")) fs::remove(file);
  ExpectRefusal("its write-ahead log is missing");
}

TEST_F(CorruptFileTest, RefusesALogThatWasCutAfterACleanEnd) {
  AppendSome();
  store_.reset();
  const fs::path log = Files("", ".log").at(0);
  const std::vector<size_t> ends = RecordEnds(log);
  ASSERT_GT(ends.size(), 2u);
  fs::resize_file(log, ends[ends.size() - 2]);
  ExpectRefusal("were on disk");
}

TEST_F(CorruptFileTest, RefusesAManifestThatEndsTooEarly) {
  Fill();
  store_.reset();
  const fs::path manifest = Files("MANIFEST").at(0);
  const std::string copy = path_ + ".manifest";
  fs::copy_file(manifest, copy);
  const std::vector<size_t> ends = RecordEnds(manifest);
  ASSERT_GT(ends.size(), 5u);
  const size_t files = Files("").size();
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    fs::copy_file(copy, manifest, fs::copy_options::overwrite_existing);
    fs::resize_file(manifest, ends[i]);
    ExpectRefusal("");
    EXPECT_EQ(Files("").size(), files) << "cut at record " << i;
  }
  fs::copy_file(copy, manifest, fs::copy_options::overwrite_existing);
  Open();
  EXPECT_EQ(store_->samples().Load(TestKey(), 1)->samples.size(),
            size_t{kSamples});
  fs::remove(copy);
}

TEST_F(CorruptFileTest, RefusesAFolderWhoseDatabaseIsGone) {
  store_.reset();
  for (const fs::path& file : Files("")) {
    if (file.filename() != "STORE") fs::remove(file);
  }
  ExpectRefusal("CURRENT is missing");
}

TEST_F(CorruptFileTest, WritesAnUnreadableRecordAnew) {
  AppendSome();
  store_.reset();
  std::ofstream(path_ + "/STORE") << "garbage";
  Open();
  store_.reset();
  for (const fs::path& file : Files("", ".log")) fs::remove(file);
  ExpectRefusal("its write-ahead log is missing");
}

// As an older daemon leaves it, or a restore.
TEST_F(CorruptFileTest, OpensAStoreWithoutARecord) {
  AppendSome();
  const std::string id = store_->store_id();
  store_.reset();
  fs::remove(path_ + "/STORE");
  Open();
  EXPECT_EQ(store_->store_id(), id);
  EXPECT_EQ(store_->samples().Load(TestKey(), 1)->samples.size(), 10u);
  EXPECT_TRUE(fs::exists(path_ + "/STORE"));
}

TEST_F(CorruptFileTest, RefusesADamagedManifest) {
  Fill();
  store_.reset();
  for (const fs::path& file : Files("MANIFEST")) Flip(file, 8);
  ExpectRefusal("");
}

TEST_F(CorruptFileTest, RefusesAMissingTableFile) {
  Fill();
  store_.reset();
  for (const fs::path& file : Files("", ".sst")) fs::remove(file);
  ExpectRefusal("");
}

TEST_F(CorruptFileTest, RefusesADamagedLogInsteadOfForgettingItsEnd) {
  for (int i = 0; i < 100; ++i) {
    const std::vector<SampleRecord> samples = {TestSample(i)};
    ASSERT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
  }
  store_.reset();
  Flip(Files("", ".log").at(0), 8);
  ExpectRefusal("");
}

TEST_F(CorruptFileTest, GoesOnAfterATornLogRecord) {
  for (int i = 0; i < 100; ++i) {
    const std::vector<SampleRecord> samples = {TestSample(i)};
    ASSERT_TRUE(store_->samples().Append(TestKey(), 1, samples, {}).ok());
  }
  StopWithoutClosing();
  const fs::path log = Files("", ".log").at(0);
  fs::resize_file(log, fs::file_size(log) - 3);
  Open();
  EXPECT_EQ(store_->samples().Load(TestKey(), 1)->samples.size(), 99u);
}

// ---- A folder that was moved, removed or copied ----

class StoreFolderTest : public CorruptFileTest {
 protected:
  absl::Status Create() { return store_->jobs().Create(TestJob()).status(); }

  const std::string elsewhere_ = directory_.Path("elsewhere");
};

TEST_F(StoreFolderTest, ACopyGetsAnIdOfItsOwn) {
  AppendSome();
  const std::string id = store_->store_id();
  store_.reset();
  fs::copy(path_, elsewhere_, fs::copy_options::recursive);
  std::string copied_id;
  {
    const auto copy = RocksDbStore::Open({.path = elsewhere_});
    ASSERT_TRUE(copy.ok()) << copy.status();
    copied_id = (*copy)->store_id();
    EXPECT_NE(copied_id, id);
    EXPECT_EQ((*copy)->samples().Load(TestKey(), 1)->samples.size(), 10u);
  }
  // Both keep theirs from now on.
  const auto copy = RocksDbStore::Open({.path = elsewhere_});
  EXPECT_EQ((*copy)->store_id(), copied_id);
  Open();
  EXPECT_EQ(store_->store_id(), id);
}

TEST_F(StoreFolderTest, AMovedStoreKeepsItsId) {
  const std::string id = store_->store_id();
  store_.reset();
  fs::rename(path_, elsewhere_);
  const auto moved = RocksDbStore::Open({.path = elsewhere_});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ((*moved)->store_id(), id);
}

// A file system that numbers its inodes anew, or a folder that was put back.
TEST_F(StoreFolderTest, AnotherInodeAtTheSamePathIsNoCopy) {
  AppendSome();
  const std::string id = store_->store_id();
  store_.reset();
  fs::rename(path_, elsewhere_);
  fs::copy(elsewhere_, path_, fs::copy_options::recursive);
  for (int start = 0; start < 2; ++start) {
    Open();
    EXPECT_EQ(store_->store_id(), id);
    store_.reset();
  }
}

TEST(StoreRecordTest, ACopyHasAnotherPlaceAndAnotherPathOrHost) {
  const StoreRecord here{.place = "1.2.3", .path = "/a", .host = "node-1"};
  StoreRecord before = here;
  EXPECT_FALSE(IsCopy(before, here));
  before.path = "/b";  // It was moved.
  EXPECT_FALSE(IsCopy(before, here));
  before.place = "7.2.3";
  EXPECT_TRUE(IsCopy(before, here));
  before.path = here.path;
  EXPECT_FALSE(IsCopy(before, here));
  before.place = "1";  // No time of birth.
  EXPECT_FALSE(IsCopy(before, here));
  before.host = "node-2";
  EXPECT_TRUE(IsCopy(before, here));
  before.path = before.host = "";  // An older daemon's record.
  EXPECT_TRUE(IsCopy(before, here));
  before.place = "";
  EXPECT_FALSE(IsCopy(before, here));
}

TEST(StoreRecordTest, ARocksDbOfALaterMinorVersionIsNewer) {
  const auto newer = [](const std::string& version) {
    return IsOfNewerRocksDb({.rocksdb = version});
  };
  EXPECT_FALSE(newer(RocksDbVersion()));
  EXPECT_FALSE(newer(""));
  EXPECT_FALSE(newer("x.y"));
  EXPECT_FALSE(newer("6.29.5"));
  EXPECT_TRUE(newer(absl::StrCat(ROCKSDB_MAJOR, ".", ROCKSDB_MINOR + 1, ".0")));
  EXPECT_TRUE(newer(absl::StrCat(ROCKSDB_MAJOR + 1, ".0.0")));
}

TEST_F(StoreFolderTest, TheRecordSaysWhereItLiesAndWhoWroteIt) {
  store_.reset();
  const auto record = ReadStoreRecord(path_, rocksdb::Env::Default());
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->path, fs::canonical(path_).string());
  EXPECT_NE(record->host, "");
  EXPECT_EQ(record->rocksdb, RocksDbVersion());
  // What an older daemon wrote has no more than seven lines.
  std::string text;
  std::getline(std::ifstream(path_ + "/STORE"), text, '\0');
  std::ofstream(path_ + "/STORE") << text.substr(0, text.find("path "));
  const auto older = ReadStoreRecord(path_, rocksdb::Env::Default());
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(older->place, record->place);
  EXPECT_EQ(older->path, "");
  Open();
}

// The version of a table file's format stands before the number at its end.
TEST_F(StoreFolderTest, AFileOfANewerRocksDbIsNotCalledDamaged) {
  AppendSome();
  store_.reset();
  Open();  // Its log becomes a table file.
  store_.reset();
  int changed = 0;
  for (const auto& file : fs::directory_iterator(path_)) {
    if (file.path().extension() != ".sst") continue;
    std::fstream table(file.path(),
                       std::ios::in | std::ios::out | std::ios::binary);
    table.seekg(-12, std::ios::end);
    ASSERT_EQ(table.get(), 5);
    table.seekp(-12, std::ios::end);
    table.put(6);
    ++changed;
  }
  ASSERT_GT(changed, 0);
  const absl::Status status = RocksDbStore::Open({.path = path_}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("a newer RocksDB has written to it than this "
                              "build's " +
                              RocksDbVersion()),
                    HasSubstr("start the newer build again")));
}

TEST_F(StoreFolderTest, DamageToWhatANewerRocksDbWroteNamesItsVersion) {
  store_.reset();
  StoreRecord record = *ReadStoreRecord(path_, rocksdb::Env::Default());
  record.rocksdb = "99.1.0";
  ASSERT_TRUE(WriteStoreRecord(record, path_, rocksdb::Env::Default()).ok());
  const absl::Status unread =
      OpenError(rocksdb::Status::Corruption("whatever it says"), path_,
                rocksdb::Env::Default());
  EXPECT_EQ(unread.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unread.message()),
              HasSubstr("a newer RocksDB (99.1.0) has written to it"));
  // What can be read is read.
  Open();
  store_.reset();
  EXPECT_EQ(ReadStoreRecord(path_, rocksdb::Env::Default())->rocksdb,
            RocksDbVersion());
}

TEST(OpenErrorTest, AFileSystemWithoutLocksIsNoOtherDaemon) {
  const auto error = [](const char* text) {
    return std::string(
        OpenError(rocksdb::Status::IOError("While lock file: /s/LOCK", text),
                  "/s", rocksdb::Env::Default())
            .message());
  };
  EXPECT_THAT(error("No locks available"),
              AllOf(HasSubstr("its file system has no locks"),
                    HasSubstr("put the store on a local disk")));
  EXPECT_THAT(error("Function not implemented"),
              HasSubstr("its file system has no locks"));
  EXPECT_THAT(error("Resource temporarily unavailable"),
              HasSubstr("another wavetuned uses the store /s"));
}

TEST_F(StoreFolderTest, ARemovedStoreIsNoticedAndNotMadeAnew) {
  ASSERT_TRUE(Create().ok());
  EXPECT_TRUE(store_->RecoverWrites().ok());
  fs::remove_all(path_);
  EXPECT_EQ(store_->RecoverWrites().code(),
            absl::StatusCode::kFailedPrecondition);
  const absl::Status status = Create();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path_), HasSubstr("was removed"),
                    HasSubstr("restart the daemon")));
  EXPECT_EQ(store_->WriteProblem(), status);
  store_.reset();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(StoreFolderTest, WritesGoOnWhenTheFolderIsPutBack) {
  fs::rename(path_, elsewhere_);
  EXPECT_FALSE(Create().ok());
  fs::create_directory(path_);  // Another folder is not the store's.
  EXPECT_FALSE(Create().ok());
  fs::remove(path_);
  fs::rename(elsewhere_, path_);
  EXPECT_TRUE(store_->RecoverWrites().ok());
  EXPECT_TRUE(Create().ok());
}

}  // namespace
}  // namespace wavetune::testing
