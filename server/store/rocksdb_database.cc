#include "server/store/rocksdb_database.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "rocksdb/listener.h"
#include "rocksdb/write_batch.h"
#include "server/store/rocksdb_file_system.h"
#include "server/store/rocksdb_open.h"
#include "server/store/rocksdb_options.h"
#include "server/store/rocksdb_status.h"
#include "server/store/rocksdb_store_mount.h"

namespace wavetune {
namespace {

constexpr absl::string_view kComponent = "store";

// Reported keys are remembered so that each counts once; in a store that is
// damaged all over, counting twice does less harm than the memory.
constexpr size_t kMaxRememberedKeys = 10000;

// Space that is there before recovery is tried: all memory tables (4 MiB, see
// StoreOptions), a new log and a new manifest.
constexpr size_t kProbeBytes = size_t{8} << 20;

// Opening anew fails where the disk is damaged rather than full. It is tried
// again for ever, after pauses that double from the first to the last.
constexpr int64_t kFirstReopenPauseUs = 1'000'000;
constexpr int64_t kLastReopenPauseUs = 30'000'000;

// 128 random bits: two stores never share an identity.
std::string RandomStoreId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&id, "%08x", device());
  return id;
}

}  // namespace

// Hears from RocksDB's threads what they could not write, and what is flushed.
class RocksDbDatabase::Listener : public rocksdb::EventListener {
 public:
  explicit Listener(RocksDbDatabase* database) : database_(database) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/,
                         rocksdb::Status* error) override {
    database_->needs_recovery_ = true;
    database_->NoteWrites(FromRocksDb(*error, "write the store's files"));
  }
  void OnFlushCompleted(rocksdb::DB* db,
                        const rocksdb::FlushJobInfo& flush) override {
    // Without it the next start checks a little less.
    database_->RecordChanges(*db, flush.largest_seqno).IgnoreError();
  }

 private:
  RocksDbDatabase* const database_;
};

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
      env_(options_.env != nullptr ? options_.env : rocksdb::Env::Default()),
      rocksdb_env_(rocksdb::NewCompositeEnv(
          std::make_shared<StoreFileSystem>(env_->GetFileSystem()))) {}

RocksDbDatabase::~RocksDbDatabase() {
  CloseFiles(/*sync=*/!needs_recovery_ && CheckInPlace().ok());
}

void RocksDbDatabase::CloseFiles(bool sync) {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  // Unsynced progress of jobs reaches the disk now and not at some time. Not
  // after a failed write: RocksDB asserts that its log is sound (and Debian's
  // is built with assertions).
  if (sync && db_->FlushWAL(/*sync=*/true).ok()) {
    RecordChanges(*db_, db_->GetLatestSequenceNumber()).IgnoreError();
  }
  db_->Close().PermitUncheckedError();
  db_.reset();
}

absl::Status RocksDbDatabase::OpenFiles() {
  RETURN_IF_ERROR(PrepareToOpen(options_.path, options_.schema_version, env_));
  rocksdb::Status status = TryOpen(/*read_only=*/false);
  return status.ok() ? absl::OkStatus()
                     : OpenError(status, options_.path, env_);
}

rocksdb::Status RocksDbDatabase::TryOpen(bool read_only) {
  rocksdb::Options options = StoreOptions(rocksdb_env_.get());
  options.listeners.push_back(std::make_shared<Listener>(this));
  // Opened anew, the store is there, or nothing is to be made in its place.
  if (!store_id_.empty()) options.create_if_missing = false;
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
                     " is closed after an error and cannot be opened again "
                     "yet: the log says why; it is tried again"));
  }
  return lock;
}

absl::Status RocksDbDatabase::LoadIdentity() {
  StoreRecord here = RecordOfFolder(path(), env_);
  place_ = here.place;
  ASSIGN_OR_RETURN(const uint64_t stored, GetNumber(kSchemaVersionName));
  if (stored == 0) {
    RETURN_IF_ERROR(CreateIdentity());
  } else {
    RETURN_IF_ERROR(ReadIdentity(static_cast<int>(stored), here));
  }
  if (env_ == rocksdb::Env::Default()) RememberMount(path());
  here.store_id = store_id_;
  {
    std::lock_guard lock(record_mutex_);
    record_ = std::move(here);
  }
  // The identity was synced; what came before is in table files since the logs
  // were replayed.
  return RecordChanges(*db_, db_->GetLatestSequenceNumber());
}

absl::Status RocksDbDatabase::RecordChanges(rocksdb::DB& db,
                                            uint64_t sequence) {
  std::lock_guard lock(record_mutex_);
  if (!record_.has_value()) return absl::OkStatus();
  NoteChanges(db, sequence, path(), env_, *record_);
  return WriteStoreRecord(*record_, path(), env_);
}

absl::Status RocksDbDatabase::RenewCopiedId(const StoreRecord& here) {
  const std::optional<StoreRecord> record = ReadStoreRecord(path(), env_);
  if (!record.has_value() || !IsCopy(*record, here)) return absl::OkStatus();
  const std::string before = store_id_;
  RETURN_IF_ERROR(ReplaceStoreId());
  Log(LogLevel::kWarning, kComponent,
      absl::StrCat(path(),
                   " is a copy of a store's folder: it gets an id of "
                   "its own, ",
                   store_id_, " instead of ", before,
                   ", and clients fetch everything anew"));
  return absl::OkStatus();
}

absl::Status RocksDbDatabase::ReadIdentity(int version,
                                           const StoreRecord& here) {
  // Checked before the files were opened; this is for who comes in between.
  if (version > options_.schema_version) {
    return NewerStore(path(), version, options_.schema_version);
  }
  RETURN_IF_ERROR(Migrate(version));
  ASSIGN_OR_RETURN(const std::optional<std::string> id,
                   Get(Family::kMeta, kStoreIdName));
  if (!id.has_value()) return DamagedStore(path(), "it has no store id");
  store_id_ = *id;
  return RenewCopiedId(here);
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
  std::lock_guard lock(record_mutex_);
  if (record_.has_value()) record_->store_id = id;
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
    absl::Status status = FromRocksDb(
        it->status(), absl::StrCat("read from ", FamilyName(family)));
    if (!absl::IsDataLoss(status)) return status;
    ReportCorrupt(family, absl::StrCat(last_key, " and what follows"), status);
    from = resume == nullptr ? std::nullopt : resume(last_key, attempt);
  }
  return absl::OkStatus();
}

rocksdb::Status RocksDbDatabase::TryWrite(const StoreBatch& batch, bool sync) {
  const Lock lock(open_mutex_);
  if (db_ == nullptr) {
    needs_recovery_ = true;
    return rocksdb::Status::IOError("the store is closed");
  }
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
  // A log with half a record in it, or files that were opened read-only.
  if (!status.ok()) needs_recovery_ = true;
  return status;
}

absl::Status RocksDbDatabase::Write(const StoreBatch& batch, bool sync,
                                    absl::string_view doing) {
  absl::Status result = CheckInPlace();
  if (result.ok()) {
    rocksdb::Status status = rocksdb::Status::IOError("earlier writes failed");
    if (!needs_recovery_) status = TryWrite(batch, sync);
    if (!status.ok()) status = RecoverAndWrite(batch, sync);
    result = FromRocksDb(status, doing);
  }
  NoteWrites(result);
  return result;
}

rocksdb::Status RocksDbDatabase::RecoverAndWrite(const StoreBatch& batch,
                                                 bool sync) {
  std::lock_guard lock(recover_mutex_);
  // Perhaps another thread has.
  const rocksdb::Status status =
      needs_recovery_ ? Recover() : rocksdb::Status::OK();
  return status.ok() ? TryWrite(batch, sync) : status;
}

absl::Status RocksDbDatabase::WriteProblem() {
  std::lock_guard lock(problem_mutex_);
  return problem_;
}

absl::Status RocksDbDatabase::RecoverWrites() {
  absl::Status status = CheckInPlace();
  if (status.ok() && (needs_recovery_ || !WriteProblem().ok())) {
    std::lock_guard lock(recover_mutex_);
    status = FromRocksDb(needs_recovery_ ? Recover() : ProbeSpace(),
                         "write to the store");
  }
  NoteWrites(status);
  return status;
}

void RocksDbDatabase::NoteWrites(const absl::Status& status) {
  // A write may succeed while RocksDB cannot flush or compact.
  if (status.ok() && needs_recovery_) return;
  {
    std::lock_guard lock(problem_mutex_);
    const bool changed = problem_.ok() != status.ok();
    problem_ = status;
    if (!changed) return;
  }
  if (status.ok()) {
    // At the level of the default log, which has told of the failure.
    Log(LogLevel::kWarning, kComponent,
        absl::StrCat(path(), ": writes succeed again"));
  } else {
    Log(LogLevel::kError, kComponent,
        absl::StrCat(path(), ": writes fail: ", status.message()));
  }
}

absl::Status RocksDbDatabase::CheckInPlace() {
  const bool there = StorePlace(path(), env_) == place_ &&
                     !env_->FileExists(path() + "/CURRENT").IsNotFound();
  if (there || store_id_.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the store ", path(),
      " was removed, moved or replaced while the daemon uses it: nothing is "
      "stored any more, and what serves is lost when the daemon ends. Put the "
      "folder back, or restart the daemon to go on with what is there now"));
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

rocksdb::Status RocksDbDatabase::Recover() {
  const int64_t now_us =
      options_.now_us ? options_.now_us() : SystemClock().SteadyNow().count();
  if (now_us < reopen_at_us_) return reopen_failure_;
  // Without space an attempt would only do more harm.
  if (rocksdb::Status space = ProbeSpace(); !space.ok()) return space;
  reopen_failure_ = Reopen();
  if (reopen_failure_.ok()) {
    reopen_at_us_ = 0;
    reopen_pause_us_ = 0;
    return reopen_failure_;
  }
  reopen_pause_us_ =
      std::clamp(2 * reopen_pause_us_, kFirstReopenPauseUs, kLastReopenPauseUs);
  reopen_at_us_ = now_us + reopen_pause_us_;
  Log(LogLevel::kError, kComponent,
      absl::StrCat(path(), ": cannot be opened anew, tried again in ",
                   reopen_pause_us_ / 1'000'000,
                   " s: ", reopen_failure_.ToString()));
  return reopen_failure_;
}

// Not DB::Resume: it takes a log that it could not write for sound where
// nothing is to be flushed, and RocksDB asserts at the next write to it.
rocksdb::Status RocksDbDatabase::Reopen() {
  std::unique_lock lock(open_mutex_);
  CloseFiles(/*sync=*/false);
  needs_recovery_ = false;
  rocksdb::Status status = TryOpen(/*read_only=*/false);
  if (status.ok()) {
    RecordChanges(*db_, db_->GetLatestSequenceNumber()).IgnoreError();
    return status;
  }
  // Open for reading at least, until that succeeds.
  needs_recovery_ = true;
  TryOpen(/*read_only=*/true).PermitUncheckedError();
  return status;
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
