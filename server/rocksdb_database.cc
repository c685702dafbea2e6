#include "server/rocksdb_database.h"

#include <algorithm>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/status_macros.h"
#include "rocksdb/write_batch.h"
#include "server/log.h"
#include "server/rocksdb_open.h"
#include "server/rocksdb_options.h"
#include "server/rocksdb_status.h"

namespace wavetune {
namespace {

constexpr absl::string_view kComponent = "store";

// Reported keys are remembered so that each counts once; in a store that is
// damaged all over, counting twice does less harm than the memory.
constexpr size_t kMaxRememberedKeys = 10000;

// Space that is there before recovery is tried: all memory tables (4 MiB, see
// StoreOptions), a new log and a new manifest.
constexpr size_t kProbeBytes = size_t{8} << 20;

// 128 random bits: two stores never share an identity.
std::string RandomStoreId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&id, "%08x", device());
  return id;
}

}  // namespace

absl::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kMeta:
      return "meta";
    case Family::kDevices:
      return "devices";
    case Family::kKernels:
      return "kernels";
    case Family::kSamples:
      return "samples";
    case Family::kTables:
      return "tables";
    case Family::kJobs:
      return "jobs";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<RocksDbDatabase>> RocksDbDatabase::Open(
    Options options) {
  std::unique_ptr<RocksDbDatabase> database(
      new RocksDbDatabase(std::move(options)));
  RETURN_IF_ERROR(database->OpenFiles());
  RETURN_IF_ERROR(database->LoadIdentity());
  return database;
}

RocksDbDatabase::RocksDbDatabase(Options options)
    : options_(std::move(options)),
      env_(options_.env != nullptr ? options_.env : rocksdb::Env::Default()) {}

RocksDbDatabase::~RocksDbDatabase() { CloseFiles(/*sync=*/!writes_fail_); }

void RocksDbDatabase::CloseFiles(bool sync) {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  // Unsynced progress of jobs reaches the disk now and not at some time. Not
  // after a failed write: RocksDB asserts that its log is sound (and Debian's
  // is built with assertions).
  if (sync) db_->FlushWAL(/*sync=*/true).PermitUncheckedError();
  db_->Close().PermitUncheckedError();
  db_.reset();
}

absl::Status RocksDbDatabase::OpenFiles() {
  RETURN_IF_ERROR(PrepareToOpen(options_.path, options_.schema_version, env_));
  const rocksdb::Status status = TryOpen(/*read_only=*/false);
  return status.ok() ? absl::OkStatus()
                     : OpenError(status, options_.path, env_);
}

rocksdb::Status RocksDbDatabase::TryOpen(bool read_only) {
  const rocksdb::Options options = StoreOptions(env_);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (int i = 0; i < kFamilyCount; ++i) {
    descriptors.emplace_back(std::string(FamilyName(static_cast<Family>(i))),
                             options);
  }
  descriptors.emplace_back(rocksdb::kDefaultColumnFamilyName, options);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  rocksdb::Status status =
      read_only ? rocksdb::DB::OpenForReadOnly(options, options_.path,
                                               descriptors, &handles, &db)
                : rocksdb::DB::Open(options, options_.path, descriptors,
                                    &handles, &db);
  if (!status.ok()) return status;
  db_.reset(db);
  std::copy(handles.begin(), handles.end(), handles_.begin());
  return status;
}

absl::StatusOr<RocksDbDatabase::Lock> RocksDbDatabase::LockOpen() {
  Lock lock(open_mutex_);
  if (db_ == nullptr) {
    return absl::InternalError(
        absl::StrCat("the store ", path(),
                     " is closed after an error: see the log, then restart "
                     "the daemon"));
  }
  return lock;
}

absl::Status RocksDbDatabase::LoadIdentity() {
  ASSIGN_OR_RETURN(const uint64_t stored, GetNumber(kSchemaVersionName));
  if (stored == 0) return CreateIdentity();
  const int version = static_cast<int>(stored);
  // Checked before the files were opened; this is for who comes in between.
  if (version > options_.schema_version) {
    return NewerStore(path(), version, options_.schema_version);
  }
  RETURN_IF_ERROR(Migrate(version));
  ASSIGN_OR_RETURN(const std::optional<std::string> id,
                   Get(Family::kMeta, kStoreIdName));
  if (!id.has_value()) return DamagedStore(path(), "it has no store id");
  store_id_ = *id;
  return absl::OkStatus();
}

absl::Status RocksDbDatabase::CreateIdentity() {
  for (int i = 1; i < kFamilyCount; ++i) {
    bool empty = true;
    RETURN_IF_ERROR(Scan(
        static_cast<Family>(i), "",
        [&](absl::string_view, absl::string_view) { return empty = false; }));
    if (!empty) return DamagedStore(path(), "it has no schema version");
  }
  StoreBatch batch;
  PutNumber(kSchemaVersionName, static_cast<uint64_t>(options_.schema_version),
            batch);
  store_id_ = RandomStoreId();
  batch.Put(Family::kMeta, kStoreIdName, store_id_);
  return Write(batch, /*sync=*/true, "create the store");
}

absl::Status RocksDbDatabase::Migrate(int from_version) {
  for (int version = from_version; version < options_.schema_version;
       ++version) {
    const auto found = std::find_if(
        options_.migrations.begin(), options_.migrations.end(),
        [&](const Migration& m) { return m.from_version == version; });
    if (found == options_.migrations.end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the store ", path(), " has schema ", version,
          ", which this wavetuned cannot migrate: start the release between "
          "the two once, or move the directory away"));
    }
    StoreBatch batch;
    RETURN_IF_ERROR(found->apply(*this, batch));
    PutNumber(kSchemaVersionName, static_cast<uint64_t>(version) + 1, batch);
    RETURN_IF_ERROR(Write(batch, /*sync=*/true, "migrate the store"));
    Log(LogLevel::kInfo, kComponent,
        absl::StrCat(path(), ": migrated from schema ", version, " to ",
                     version + 1));
  }
  return absl::OkStatus();
}

absl::Status RocksDbDatabase::ReplaceStoreId() {
  const std::string id = RandomStoreId();
  StoreBatch batch;
  batch.Put(Family::kMeta, kStoreIdName, id);
  RETURN_IF_ERROR(Write(batch, /*sync=*/true, "give the store a new id"));
  store_id_ = id;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> RocksDbDatabase::Get(
    Family family, absl::string_view key) {
  ASSIGN_OR_RETURN(const Lock lock, LockOpen());
  std::string value;
  const rocksdb::Status status =
      db_->Get({}, handle(family), ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) {
    return FromRocksDb(status, absl::StrCat("read from ", FamilyName(family)));
  }
  return std::optional<std::string>(std::move(value));
}

absl::Status RocksDbDatabase::Scan(Family family, absl::string_view prefix,
                                   const Visit& visit, const Resume& resume,
                                   absl::string_view start) {
  ASSIGN_OR_RETURN(const Lock lock, LockOpen());
  std::string last_key(prefix);
  std::optional<std::string> from(start.empty() ? prefix : start);
  for (int attempt = 0; from.has_value(); ++attempt) {
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->NewIterator({}, handle(family)));
    for (it->Seek(*from); it->Valid(); it->Next()) {
      const absl::string_view key = ToView(it->key());
      if (!absl::StartsWith(key, prefix)) return absl::OkStatus();
      last_key = std::string(key);
      attempt = 0;
      if (!visit(key, ToView(it->value()))) return absl::OkStatus();
    }
    const absl::Status status = FromRocksDb(
        it->status(), absl::StrCat("read from ", FamilyName(family)));
    if (!absl::IsDataLoss(status)) return status;
    ReportCorrupt(family, absl::StrCat(last_key, " and what follows"), status);
    from = resume == nullptr ? std::nullopt : resume(last_key, attempt);
  }
  return absl::OkStatus();
}

rocksdb::Status RocksDbDatabase::TryWrite(const StoreBatch& batch, bool sync) {
  const Lock lock(open_mutex_);
  if (db_ == nullptr) return rocksdb::Status::IOError("the store is closed");
  using Change = StoreBatch::Change;
  rocksdb::WriteBatch changes;
  for (const Change& change : batch.changes_) {
    rocksdb::ColumnFamilyHandle* const family = handle(change.family);
    rocksdb::Status status;
    switch (change.kind) {
      case Change::kPut:
        status = changes.Put(family, change.key, change.value);
        break;
      case Change::kDelete:
        status = changes.Delete(family, change.key);
        break;
      case Change::kDeleteRange:
        status = changes.DeleteRange(family, change.key, change.value);
        break;
    }
    if (!status.ok()) return status;
  }
  rocksdb::WriteOptions options;
  options.sync = sync;
  rocksdb::Status status = db_->Write(options, &changes);
  // Opened read-only while recovering.
  if (status.IsNotSupported()) return rocksdb::Status::IOError("read-only");
  return status;
}

absl::Status RocksDbDatabase::Write(const StoreBatch& batch, bool sync,
                                    absl::string_view doing) {
  rocksdb::Status status = TryWrite(batch, sync);
  if (status.IsIOError()) {
    std::lock_guard lock(recover_mutex_);
    // Without space an attempt to recover would only do more harm.
    const rocksdb::Status space = ProbeSpace();
    if (!space.ok()) {
      status = space;
    } else if (Recover()) {
      status = TryWrite(batch, sync);
    }
  }
  if (writes_fail_.exchange(!status.ok()) != !status.ok()) {
    if (status.ok()) {
      Log(LogLevel::kInfo, kComponent,
          absl::StrCat(path(), ": writes succeed again"));
    } else {
      Log(LogLevel::kError, kComponent,
          absl::StrCat(path(), ": writes fail: ", status.ToString()));
    }
  }
  return FromRocksDb(status, doing);
}

rocksdb::Status RocksDbDatabase::ProbeSpace() {
  const std::string name = absl::StrCat(path(), "/space_probe.tmp");
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env_->NewWritableFile(name, &file, {});
  if (!status.ok()) return status;
  const std::string bytes(kProbeBytes, '\0');
  status = file->Append(bytes);
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = file->Close();
  file.reset();
  env_->DeleteFile(name).PermitUncheckedError();
  return status;
}

bool RocksDbDatabase::Recover() {
  {
    // Flushes to new files: a half-written log record stays behind.
    const Lock lock(open_mutex_);
    if (db_ != nullptr && db_->Resume().ok()) return true;
  }
  // RocksDB takes some failures, such as to create a log, for fatal; and Resume
  // says "busy" while its own recovery waits for its next look at the disk.
  // Both end when it is opened anew. Until that succeeds it is open for reading
  // at least.
  std::unique_lock lock(open_mutex_);
  CloseFiles(/*sync=*/false);
  const rocksdb::Status status = TryOpen(/*read_only=*/false);
  if (status.ok()) return true;
  Log(LogLevel::kError, kComponent,
      absl::StrCat(path(), ": cannot be opened anew: ", status.ToString()));
  TryOpen(/*read_only=*/true).PermitUncheckedError();
  return false;
}

absl::StatusOr<uint64_t> RocksDbDatabase::GetNumber(absl::string_view name) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   Get(Family::kMeta, name));
  uint64_t number = 0;
  if (text.has_value() && !absl::SimpleAtoi(*text, &number)) {
    return DamagedStore(path(), absl::StrCat(name, " is no number"));
  }
  return number;
}

void RocksDbDatabase::PutNumber(absl::string_view name, uint64_t number,
                                StoreBatch& batch) {
  batch.Put(Family::kMeta, name, absl::StrCat(number));
}

void RocksDbDatabase::ReportCorrupt(Family family, absl::string_view key,
                                    const absl::Status& reason) {
  {
    std::lock_guard lock(corrupt_mutex_);
    if (corrupt_keys_.size() < kMaxRememberedKeys &&
        !corrupt_keys_.emplace(family, key).second) {
      return;
    }
  }
  ++corrupt_entries_;
  Log(LogLevel::kError, kComponent,
      absl::StrCat(path(), ": an entry of ", FamilyName(family),
                   " is left out, key ", absl::CHexEscape(key), ": ",
                   reason.message()));
}

}  // namespace wavetune
