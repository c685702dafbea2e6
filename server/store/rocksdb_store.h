// RocksDbStore: everything the daemon keeps, on local disk.
//
//   ASSIGN_OR_RETURN(auto store, RocksDbStore::Open({.path = "/var/lib/..."}));
//   store->samples().Append(...);
//   store->tables().ListServing();
//
// One process at a time has a store open. docs/storage.md has the promises
// about crashes, full disks and damaged files. Includes no RocksDB header.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/device_store.h"
#include "server/store/event_store.h"
#include "server/store/fleet_head_store.h"
#include "server/store/job_store.h"
#include "server/store/rocksdb_maintenance.h"
#include "server/store/sample_store.h"
#include "server/store/store_maintenance.h"
#include "server/store/table_store.h"
#include "server/store/usage_store.h"
#include "server/store/workload_store.h"

namespace wavetune {

class RocksDbStore {
 public:
  struct Options {
    // Directory; made if missing, its parent must exist.
    std::string path;
    // Append fails above it; 0: no limit. The default holds some ten million
    // samples.
    int64_t sample_limit_bytes = int64_t{4} << 30;
    // nullptr: the operating system's.
    rocksdb::Env* env = nullptr;
    // As RocksDbDatabase::Options.
    std::function<int64_t()> now_us = nullptr;
  };

  // Errors: as RocksDbDatabase::Open.
  static absl::StatusOr<std::unique_ptr<RocksDbStore>> Open(
      const Options& options);
  // Syncs the rest (progress of jobs).
  ~RocksDbStore();

  SampleStore& samples() { return *samples_; }
  TableStore& tables() { return *tables_; }
  JobStore& jobs() { return *jobs_; }
  DeviceStore& devices() { return *devices_; }
  UsageStore& usage() { return *usage_; }
  WorkloadStore& workloads() { return *workloads_; }
  EventStore& events() { return *events_; }
  FleetHeadStore& fleet_heads() { return *fleet_heads_; }
  StoreMaintenance& maintenance() { return *maintenance_; }

  const std::string& path() const;
  // 32 hex digits; made with the store.
  const std::string& store_id() const;
  int schema_version() const;
  // Entries found damaged since Open; each counts once.
  int64_t corrupt_entries() const;

  // OK, or why nothing can be written at the moment, with what to do.
  absl::Status WriteProblem();
  // As RocksDbDatabase::RecoverWrites: to be called every few seconds.
  absl::Status RecoverWrites();

  // As CheckDatabase and BackupDatabase.
  absl::StatusOr<StoreReport> Check();
  absl::Status Backup(const std::string& backup_path);

  // For tests of rocksdb_* files.
  RocksDbDatabase& database() { return *database_; }

 private:
  RocksDbStore();

  std::unique_ptr<RocksDbDatabase> database_;
  std::unique_ptr<SampleStore> samples_;
  std::unique_ptr<TableStore> tables_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<DeviceStore> devices_;
  std::unique_ptr<UsageStore> usage_;
  std::unique_ptr<WorkloadStore> workloads_;
  std::unique_ptr<EventStore> events_;
  std::unique_ptr<FleetHeadStore> fleet_heads_;
  std::unique_ptr<StoreMaintenance> maintenance_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_STORE_H_
