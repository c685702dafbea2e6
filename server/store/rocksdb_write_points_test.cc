// A crash at every write of a session, one after the other: whole, torn in the
// middle, or with the power. The next start works and holds what was
// acknowledged.
//
//   WAVETUNE_WRITE_POINTS=all build/dev/bin/server_store_test
//
// tries each write; otherwise every fourth, of each kind of crash others.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "gtest/gtest.h"
#include "server/store/rocksdb_test_support.h"
#include "server/store/store_contract_test_records.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace wavetune::testing {
namespace {

// RocksDB 7.8 loses the memtable that it was about to switch to where the log
// for it cannot be made.
#ifdef __SANITIZE_ADDRESS__
using IgnoreLeaks = __lsan::ScopedDisabler;
#else
struct IgnoreLeaks {};
#endif

enum class Crash {
  kBefore,  // The write is not done.
  kTorn,    // Half of it is.
  kPower,   // It is not, nor is anything that was not synced.
};

// Passes on to another file system until a certain write; from then on nothing
// reaches it.
class CrashingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  CrashingFileSystem(std::shared_ptr<rocksdb::FileSystem> base, Crash crash,
                     int64_t at)
      : FileSystemWrapper(std::move(base)), crash_(crash), left_(at) {}

  const char* Name() const override { return "CrashingFileSystem"; }
  bool crashed() const { return left_ <= 0; }

  rocksdb::IOStatus NewWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override {
    if (Crashes()) return Gone();
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status =
        target()->NewWritableFile(name, options, &file, debug);
    if (status.ok()) *result = std::make_unique<File>(std::move(file), this);
    return status;
  }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    if (Crashes()) return Gone();
    return target()->RenameFile(from, to, options, debug);
  }
  rocksdb::IOStatus DeleteFile(const std::string& name,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    if (Crashes()) return Gone();
    return target()->DeleteFile(name, options, debug);
  }
  rocksdb::IOStatus CreateDir(const std::string& name,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override {
    if (Crashes()) return Gone();
    return target()->CreateDir(name, options, debug);
  }
  rocksdb::IOStatus CreateDirIfMissing(
      const std::string& name, const rocksdb::IOOptions& options,
      rocksdb::IODebugContext* debug) override {
    if (Crashes()) return Gone();
    return target()->CreateDirIfMissing(name, options, debug);
  }

 private:
  class File : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file,
         CrashingFileSystem* system)
        : FSWritableFileOwnerWrapper(std::move(file)), system_(system) {}

    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      const bool alive = !system_->crashed();
      if (system_->Crashes()) {
        if (alive && system_->crash_ == Crash::kTorn) {
          FSWritableFileOwnerWrapper::Append(
              rocksdb::Slice(data.data(), data.size() / 2), options, debug);
        }
        return Gone();
      }
      if (system_->crash_ == Crash::kPower) {
        unsynced_.append(data.data(), data.size());
        return rocksdb::IOStatus::OK();
      }
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
      if (system_->Crashes()) return Gone();
      if (rocksdb::IOStatus s = Land(options, debug); !s.ok()) return s;
      return FSWritableFileOwnerWrapper::Sync(options, debug);
    }
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* debug) override {
      return Sync(options, debug);
    }
    // Written sooner or later, where nothing crashes.
    rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* debug) override {
      if (!system_->crashed()) {
        if (rocksdb::IOStatus s = Land(options, debug); !s.ok()) return s;
      }
      return FSWritableFileOwnerWrapper::Close(options, debug);
    }
    uint64_t GetFileSize(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
      return FSWritableFileOwnerWrapper::GetFileSize(options, debug) +
             unsynced_.size();
    }

   private:
    rocksdb::IOStatus Land(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) {
      const std::string bytes = std::exchange(unsynced_, "");
      return bytes.empty()
                 ? rocksdb::IOStatus::OK()
                 : FSWritableFileOwnerWrapper::Append(bytes, options, debug);
    }

    CrashingFileSystem* const system_;
    std::string unsynced_;  // With Crash::kPower.
  };

  static rocksdb::IOStatus Gone() {
    return rocksdb::IOStatus::IOError("the process has crashed");
  }
  bool Crashes() { return --left_ <= 0; }

  const Crash crash_;
  std::atomic<int64_t> left_;
};

// What was acknowledged, each with the question whether it is there.
class Acknowledged {
 public:
  void Add(std::string name, std::function<bool(RocksDbStore&)> is_there) {
    all_.push_back({std::move(name), std::move(is_there)});
  }
  void ExpectIn(RocksDbStore& store, const std::string& where) const {
    for (const auto& [name, is_there] : all_) {
      EXPECT_TRUE(is_there(store)) << name << " is lost, " << where;
    }
  }

 private:
  std::vector<std::pair<std::string, std::function<bool(RocksDbStore&)>>> all_;
};

void AppendSample(RocksDbStore& store, int64_t m, Acknowledged& held) {
  const std::vector<SampleRecord> samples = {TestSample(m)};
  if (!store.samples().Append(TestKey(), 1, samples, {}).ok()) return;
  held.Add(absl::StrCat("sample ", m), [m](RocksDbStore& now) {
    const auto set = now.samples().Load(TestKey(), 1);
    if (!set.ok()) return false;
    for (const SampleRecord& sample : set->samples) {
      if (sample == TestSample(m)) return true;
    }
    return false;
  });
}

void PromoteTable(RocksDbStore& store, const std::string& payload,
                  Acknowledged& held) {
  const auto record = store.tables().Promote(TestTable(TestKey()), payload);
  if (!record.ok()) return;
  held.Add("promotion of " + payload, [record, payload](RocksDbStore& now) {
    const auto stored = now.tables().Get(Sha256Hex(payload));
    const auto serving = now.tables().ListServing();
    return stored.ok() && stored->payload == payload && serving.ok() &&
           serving->size() == 1 && serving->front().epoch >= record->epoch &&
           now.tables().Revision() >= record->revision;
  });
}

void MakeJob(RocksDbStore& store, Acknowledged& held) {
  auto job = store.jobs().Create(TestJob());
  if (!job.ok()) return;
  held.Add("a job", [id = job->id](RocksDbStore& now) {
    return now.jobs().Get(id).ok();
  });
  job->state = JobState::kSucceeded;
  if (!store.jobs().Update(*job, /*sync=*/true).ok()) return;
  held.Add("a job's end", [id = job->id](RocksDbStore& now) {
    const auto stored = now.jobs().Get(id);
    return stored.ok() && stored->state == JobState::kSucceeded;
  });
}

void PinTable(RocksDbStore& store, Acknowledged& held) {
  const PinRecord pin = {.kernel = TestKey().kernel,
                         .silicon_key = TestKey().silicon_key,
                         .digest = std::string(64, 'a')};
  if (!store.tables().Pin(pin).ok()) return;
  held.Add("a pin", [](RocksDbStore& now) {
    const auto pins = now.tables().ListPins();
    return pins.ok() && pins->size() == 1;
  });
}

// What a daemon does in its life, with files that are flushed in between.
// Returns whether all of it succeeded.
bool Live(rocksdb::Env* env, Acknowledged& held) {
  for (const int64_t start : {0, 10}) {
    const auto store = RocksDbStore::Open({.path = "/store", .env = env});
    if (!store.ok()) return false;
    AppendSample(**store, start, held);
    PromoteTable(**store, absl::StrCat("payload ", start), held);
    MakeJob(**store, held);
    [[maybe_unused]] const IgnoreLeaks ignored;
    RocksDbDatabase& database = (*store)->database();
    if (!database.db().Flush({}, database.handle(Family::kSamples)).ok()) {
      return false;
    }
    AppendSample(**store, start + 1, held);
    PinTable(**store, held);
    PromoteTable(**store, absl::StrCat("payload ", start + 1), held);
  }
  return true;
}

class WritePointsTest : public ::testing::TestWithParam<Crash> {};

TEST_P(WritePointsTest, LosesNothingThatWasAcknowledged) {
  const bool each = std::getenv("WAVETUNE_WRITE_POINTS") != nullptr;
  const int64_t step = each ? 1 : 4;
  int64_t point = each ? 1 : 1 + static_cast<int64_t>(GetParam());
  for (bool all = false; !all; point += step) {
    const std::unique_ptr<rocksdb::Env> memory(
        rocksdb::NewMemEnv(rocksdb::Env::Default()));
    Acknowledged held;
    {
      const auto disk = std::make_shared<CrashingFileSystem>(
          memory->GetFileSystem(), GetParam(), point);
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
      all = Live(env.get(), held) && !disk->crashed();
    }
    const std::string where = absl::StrCat("crash at write ", point);
    const auto store =
        RocksDbStore::Open({.path = "/store", .env = memory.get()});
    ASSERT_TRUE(store.ok()) << where << ": " << store.status();
    held.ExpectIn(**store, where);
    AppendSample(**store, 99, held);
    held.ExpectIn(**store, where + ", and a sample more");
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(point, 100) << "too few writes";
  RecordProperty("points", std::to_string(point));
}

INSTANTIATE_TEST_SUITE_P(Crashes, WritePointsTest,
                         ::testing::Values(Crash::kBefore, Crash::kTorn,
                                           Crash::kPower));

}  // namespace
}  // namespace wavetune::testing
