#include "server/store/rocksdb_workload_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_workload.h"

namespace wavetune {
namespace {

// Decodes the entry of `key`. Errors: as DecodeStoredWorkload; DATA_LOSS for
// one of another name.
absl::StatusOr<WorkloadRecord> DecodeWorkloadEntry(absl::string_view key,
                                                   absl::string_view value) {
  ASSIGN_OR_RETURN(WorkloadRecord record, DecodeStoredWorkload(value));
  if (WorkloadKey(record.name) == key) return record;
  return absl::DataLossError("the entry belongs to another workload");
}

}  // namespace

absl::Status RocksDbWorkloadStore::Put(const WorkloadRecord& record) {
  StoreBatch batch;
  batch.Put(Family::kKernels, WorkloadKey(record.name),
            EncodeStoredWorkload(record));
  return database_->Write(batch, /*sync=*/true,
                          absl::StrCat("store workload ", record.name));
}

absl::Status RocksDbWorkloadStore::Delete(const std::string& name) {
  StoreBatch batch;
  batch.Delete(Family::kKernels, WorkloadKey(name));
  return database_->Write(batch, /*sync=*/true,
                          absl::StrCat("delete workload ", name));
}

absl::StatusOr<WorkloadRecord> RocksDbWorkloadStore::Get(
    const std::string& name) {
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

absl::StatusOr<std::vector<WorkloadRecord>> RocksDbWorkloadStore::List() {
  ASSIGN_OR_RETURN(std::vector<WorkloadRecord> records,
                   database_->ReadAll<WorkloadRecord>(
                       Family::kKernels, kWorkloadPrefix, DecodeWorkloadEntry));
  // Keys sort by the names' lengths first.
  std::sort(records.begin(), records.end(),
            [](const WorkloadRecord& a, const WorkloadRecord& b) {
              return a.name < b.name;
            });
  return records;
}

}  // namespace wavetune
