#include "server/store/rocksdb_entry_stores.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_format.h"
#include "server/store/stored_records.h"
#include "server/store/stored_usage.h"
#include "server/store/stored_workload.h"

namespace wavetune {
namespace {

// An entry under another key is of another record.
absl::StatusOr<DeviceRecord> DecodeDeviceEntry(absl::string_view key,
                                               absl::string_view value) {
  ASSIGN_OR_RETURN(DeviceRecord device, DecodeStoredDevice(value));
  if (device.facts.uuid == key) return device;
  return absl::DataLossError("the entry belongs to another UUID");
}

absl::StatusOr<UsageRecord> DecodeUsageEntry(absl::string_view key,
                                             absl::string_view value) {
  ASSIGN_OR_RETURN(UsageRecord record, DecodeStoredUsage(value));
  if (UsageKey(record.kernel, record.silicon_key) == key) return record;
  return absl::DataLossError("the entry belongs to another kernel");
}

absl::StatusOr<WorkloadRecord> DecodeWorkloadEntry(absl::string_view key,
                                                   absl::string_view value) {
  ASSIGN_OR_RETURN(WorkloadRecord record, DecodeStoredWorkload(value));
  if (WorkloadKey(record.name) == key) return record;
  return absl::DataLossError("the entry belongs to another workload");
}

absl::StatusOr<v1::StoredFleetHead> DecodeHeadEntry(absl::string_view key,
                                                    absl::string_view value) {
  ASSIGN_OR_RETURN(v1::StoredFleetHead head,
                   ParseStored<v1::StoredFleetHead>(value));
  if (FleetHeadKey(head.key()) == key) return head;
  return absl::DataLossError("the entry belongs to another head");
}

// Writes one entry, or deletes it where `value` is nothing.
absl::Status WriteEntry(RocksDbDatabase& database, Family family,
                        const std::string& key,
                        const std::optional<std::string>& value, bool sync,
                        const std::string& what) {
  StoreBatch batch;
  if (value) {
    batch.Put(family, key, *value);
  } else {
    batch.Delete(family, key);
  }
  return database.Write(batch, sync, what);
}

// A store of one kind, over a database that outlives it.
template <typename Interface>
class EntryStore : public Interface {
 public:
  explicit EntryStore(RocksDbDatabase* database) : database_(database) {}

 protected:
  RocksDbDatabase* const database_;
};

class DeviceEntries : public EntryStore<DeviceStore> {
 public:
  using EntryStore::EntryStore;

  absl::Status Put(const DeviceRecord& device) override {
    return WriteEntry(*database_, Family::kDevices, device.facts.uuid,
                      EncodeStoredDevice(device), /*sync=*/true,
                      absl::StrCat("store device ", device.facts.uuid));
  }
  absl::Status Delete(const std::string& uuid) override {
    return WriteEntry(*database_, Family::kDevices, uuid, std::nullopt,
                      /*sync=*/false, absl::StrCat("forget device ", uuid));
  }
  absl::StatusOr<std::vector<DeviceRecord>> List() override {
    return database_->ReadAll<DeviceRecord>(Family::kDevices, "",
                                            DecodeDeviceEntry);
  }
};

class UsageEntries : public EntryStore<UsageStore> {
 public:
  using EntryStore::EntryStore;

  absl::Status Put(const UsageRecord& record) override {
    return WriteEntry(
        *database_, Family::kKernels,
        UsageKey(record.kernel, record.silicon_key), EncodeStoredUsage(record),
        /*sync=*/false,
        absl::StrCat("store the usage of kernel ", record.kernel));
  }
  absl::Status Delete(const std::string& kernel,
                      const std::string& silicon_key) override {
    return WriteEntry(*database_, Family::kKernels,
                      UsageKey(kernel, silicon_key), std::nullopt,
                      /*sync=*/false,
                      absl::StrCat("delete the usage of kernel ", kernel));
  }
  absl::StatusOr<std::vector<UsageRecord>> List() override {
    ASSIGN_OR_RETURN(auto records,
                     database_->ReadAll<UsageRecord>(
                         Family::kKernels, kUsagePrefix, DecodeUsageEntry));
    // Keys sort by the texts' lengths first.
    std::sort(records.begin(), records.end(),
              [](const UsageRecord& a, const UsageRecord& b) {
                return std::tie(a.kernel, a.silicon_key) <
                       std::tie(b.kernel, b.silicon_key);
              });
    return records;
  }
};

class WorkloadEntries : public EntryStore<WorkloadStore> {
 public:
  using EntryStore::EntryStore;

  absl::Status Put(const WorkloadRecord& record) override {
    return WriteEntry(*database_, Family::kKernels, WorkloadKey(record.name),
                      EncodeStoredWorkload(record), /*sync=*/true,
                      absl::StrCat("store workload ", record.name));
  }
  absl::Status Delete(const std::string& name) override {
    return WriteEntry(*database_, Family::kKernels, WorkloadKey(name),
                      std::nullopt,
                      /*sync=*/true, absl::StrCat("delete workload ", name));
  }
  absl::StatusOr<WorkloadRecord> Get(const std::string& name) override {
    const std::string key = WorkloadKey(name);
    ASSIGN_OR_RETURN(const std::optional<std::string> value,
                     database_->Get(Family::kKernels, key));
    if (!value) {
      return absl::NotFoundError(absl::StrCat("there is no workload ", name));
    }
    absl::StatusOr<WorkloadRecord> record = DecodeWorkloadEntry(key, *value);
    if (!record.ok()) {
      database_->ReportCorrupt(Family::kKernels, key, record.status());
    }
    return record;
  }
  absl::StatusOr<std::vector<WorkloadRecord>> List() override {
    ASSIGN_OR_RETURN(auto records, database_->ReadAll<WorkloadRecord>(
                                       Family::kKernels, kWorkloadPrefix,
                                       DecodeWorkloadEntry));
    // Keys sort by the names' lengths first.
    std::sort(records.begin(), records.end(),
              [](const WorkloadRecord& a, const WorkloadRecord& b) {
                return a.name < b.name;
              });
    return records;
  }
};

class FleetHeadEntries : public EntryStore<FleetHeadStore> {
 public:
  using EntryStore::EntryStore;

  absl::Status Put(absl::string_view key,
                   const StoredFleetHead& head) override {
    v1::StoredFleetHead stored;
    stored.set_format(kStoredFormat);
    stored.set_key(std::string(key));
    stored.set_head(head.bytes);
    stored.set_table_epoch(head.table_epoch);
    stored.set_halted_epoch(head.halted_epoch);
    stored.set_halted_digest(head.halted_digest);
    stored.set_halted_why(head.halted_why);
    return WriteEntry(*database_, Family::kKernels, FleetHeadKey(key),
                      SerializeStored(stored), /*sync=*/true,
                      absl::StrCat("store the fleet's head ", key));
  }
  absl::StatusOr<std::map<std::string, StoredFleetHead>> List() override {
    ASSIGN_OR_RETURN(const auto stored,
                     database_->ReadAll<v1::StoredFleetHead>(
                         Family::kKernels, kFleetHeadPrefix, DecodeHeadEntry));
    std::map<std::string, StoredFleetHead> heads;
    for (const v1::StoredFleetHead& head : stored)
      heads[head.key()] = {.bytes = head.head(),
                           .table_epoch = head.table_epoch(),
                           .halted_epoch = head.halted_epoch(),
                           .halted_digest = head.halted_digest(),
                           .halted_why = head.halted_why()};
    return heads;
  }
};

}  // namespace

std::unique_ptr<DeviceStore> MakeDeviceStore(RocksDbDatabase* database) {
  return std::make_unique<DeviceEntries>(database);
}

std::unique_ptr<UsageStore> MakeUsageStore(RocksDbDatabase* database) {
  return std::make_unique<UsageEntries>(database);
}

std::unique_ptr<WorkloadStore> MakeWorkloadStore(RocksDbDatabase* database) {
  return std::make_unique<WorkloadEntries>(database);
}

std::unique_ptr<FleetHeadStore> MakeFleetHeadStore(RocksDbDatabase* database) {
  return std::make_unique<FleetHeadEntries>(database);
}

}  // namespace wavetune
