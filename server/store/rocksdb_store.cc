#include "server/store/rocksdb_store.h"

#include "base/status_macros.h"
#include "server/store/rocksdb_database.h"
#include "server/store/rocksdb_entry_stores.h"
#include "server/store/rocksdb_event_store.h"
#include "server/store/rocksdb_job_store.h"
#include "server/store/rocksdb_live_maintenance.h"
#include "server/store/rocksdb_migrations.h"
#include "server/store/rocksdb_sample_store.h"
#include "server/store/rocksdb_table_store.h"

namespace wavetune {

absl::StatusOr<std::unique_ptr<RocksDbStore>> RocksDbStore::Open(
    const Options& options) {
  std::unique_ptr<RocksDbStore> store(new RocksDbStore);
  ASSIGN_OR_RETURN(store->database_,
                   RocksDbDatabase::Open({.path = options.path,
                                          .env = options.env,
                                          .migrations = StoreMigrations(),
                                          .now_us = options.now_us}));
  RocksDbDatabase* const database = store->database_.get();
  ASSIGN_OR_RETURN(store->samples_, RocksDbSampleStore::Create(
                                        database, options.sample_limit_bytes));
  ASSIGN_OR_RETURN(store->tables_, RocksDbTableStore::Create(database));
  ASSIGN_OR_RETURN(store->jobs_, RocksDbJobStore::Create(database));
  store->devices_ = MakeDeviceStore(database);
  store->fleet_heads_ = MakeFleetHeadStore(database);
  store->usage_ = MakeUsageStore(database);
  store->workloads_ = MakeWorkloadStore(database);
  ASSIGN_OR_RETURN(store->events_, RocksDbEventStore::Create(database));
  store->maintenance_ = std::make_unique<RocksDbLiveMaintenance>(database);
  return store;
}

RocksDbStore::RocksDbStore() = default;
RocksDbStore::~RocksDbStore() = default;

const std::string& RocksDbStore::path() const { return database_->path(); }

const std::string& RocksDbStore::store_id() const {
  return database_->store_id();
}

int RocksDbStore::schema_version() const { return database_->schema_version(); }

int64_t RocksDbStore::corrupt_entries() const {
  return database_->corrupt_entries();
}

absl::Status RocksDbStore::WriteProblem() { return database_->WriteProblem(); }

absl::Status RocksDbStore::RecoverWrites() {
  return database_->RecoverWrites();
}

absl::StatusOr<StoreReport> RocksDbStore::Check() {
  return CheckDatabase(*database_);
}

absl::Status RocksDbStore::Backup(const std::string& backup_path) {
  return BackupDatabase(*database_, backup_path);
}

}  // namespace wavetune
