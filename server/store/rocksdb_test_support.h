// What the RocksDB tests share: stores in memory, directories on disk, and a
// file system that is full when told.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_TEST_SUPPORT_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_TEST_SUPPORT_H_

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "server/store/rocksdb_database.h"
#include "server/store/rocksdb_store.h"

namespace wavetune::testing {

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = ::testing::TempDir() + "/rocksdb_test_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string Path(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// A store in memory that can be closed and opened again.
class MemoryStore {
 public:
  static constexpr char kPath[] = "/store";

  explicit MemoryStore(int64_t sample_limit_bytes = 0)
      : sample_limit_bytes_(sample_limit_bytes) {
    Reopen();
  }
  ~MemoryStore() { store_.reset(); }

  void Reopen() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<RocksDbStore>> store = TryOpen();
    if (!store.ok()) {
      ADD_FAILURE() << store.status();
      std::abort();
    }
    store_ = *std::move(store);
  }
  void Close() { store_.reset(); }
  absl::StatusOr<std::unique_ptr<RocksDbStore>> TryOpen() {
    return RocksDbStore::Open({.path = kPath,
                               .sample_limit_bytes = sample_limit_bytes_,
                               .env = env_.get()});
  }

  RocksDbStore& operator*() { return *store_; }
  RocksDbStore* operator->() { return store_.get(); }
  rocksdb::Env* env() { return env_.get(); }

  // Overwrites the value of an entry.
  void Overwrite(Family family, const std::string& key,
                 const std::string& value) {
    RocksDbDatabase& database = store_->database();
    const rocksdb::Status status =
        database.db().Put({}, database.handle(family), key, value);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

 private:
  const int64_t sample_limit_bytes_;
  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::unique_ptr<RocksDbStore> store_;
};

// Passes on to another file system, failing writes (and nothing else) while
// told to.
class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultyFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base)
      : rocksdb::FileSystemWrapper(base) {}

  const char* Name() const override { return "FaultyFileSystem"; }
  // Making and writing files fails with `status` where their names end so.
  void Fail(const rocksdb::IOStatus& status, const std::string& ending = "") {
    std::lock_guard lock(mutex_);
    status_ = status;
    ending_ = ending;
  }
  void Heal() {
    Fail(rocksdb::IOStatus::OK());
    syncs_fail_ = false;
  }
  // Writing succeeds, and bringing the bytes to the disk does not.
  void FailSyncs() { syncs_fail_ = true; }
  // Whether writing fails as on a full disk.
  void set_full(bool full) {
    Fail(full ? rocksdb::IOStatus::NoSpace("No space left on device")
              : rocksdb::IOStatus::OK());
  }
  // Whether making a directory or file is refused.
  void set_denied(bool denied) {
    Fail(denied ? rocksdb::IOStatus::IOError("While open", "Permission denied")
                : rocksdb::IOStatus::OK());
  }

  rocksdb::IOStatus NewWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override {
    if (rocksdb::IOStatus s = Check(name); !s.ok()) return s;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status =
        target()->NewWritableFile(name, options, &file, debug);
    if (status.ok()) {
      *result = std::make_unique<File>(std::move(file), name, this);
    }
    return status;
  }

  rocksdb::IOStatus LockFile(const std::string& name,
                             const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* debug) override {
    if (rocksdb::IOStatus s = Check(name); !s.ok()) return s;
    return target()->LockFile(name, options, lock, debug);
  }

 private:
  class File : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name,
         FaultyFileSystem* file_system)
        : FSWritableFileOwnerWrapper(std::move(file)),
          name_(std::move(name)),
          file_system_(file_system) {}

    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      if (rocksdb::IOStatus s = file_system_->Check(name_); !s.ok()) return s;
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }

    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
      if (file_system_->syncs_fail_) {
        return rocksdb::IOStatus::IOError("While fsync", "Input/output error");
      }
      return FSWritableFileOwnerWrapper::Sync(options, debug);
    }

   private:
    const std::string name_;
    FaultyFileSystem* const file_system_;
  };

  rocksdb::IOStatus Check(const std::string& name) {
    std::lock_guard lock(mutex_);
    return name.ends_with(ending_) ? status_ : rocksdb::IOStatus::OK();
  }

  std::mutex mutex_;
  rocksdb::IOStatus status_;  // Both guarded by mutex_.
  std::string ending_;
  std::atomic<bool> syncs_fail_ = false;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_TEST_SUPPORT_H_
