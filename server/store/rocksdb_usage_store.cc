#include "server/store/rocksdb_usage_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_usage.h"

namespace wavetune {
namespace {

// Decodes the entry of `key`. Errors: as DecodeStoredUsage; DATA_LOSS for one
// of another kernel or device class.
absl::StatusOr<UsageRecord> DecodeUsageEntry(absl::string_view key,
                                             absl::string_view value) {
  ASSIGN_OR_RETURN(UsageRecord record, DecodeStoredUsage(value));
  if (UsageKey(record.kernel, record.silicon_key) == key) return record;
  return absl::DataLossError("the entry belongs to another kernel");
}

}  // namespace

absl::Status RocksDbUsageStore::Put(const UsageRecord& record) {
  StoreBatch batch;
  batch.Put(Family::kKernels, UsageKey(record.kernel, record.silicon_key),
            EncodeStoredUsage(record));
  return database_->Write(
      batch, /*sync=*/false,
      absl::StrCat("store the usage of kernel ", record.kernel));
}

absl::Status RocksDbUsageStore::Delete(const std::string& kernel,
                                       const std::string& silicon_key) {
  StoreBatch batch;
  batch.Delete(Family::kKernels, UsageKey(kernel, silicon_key));
  return database_->Write(batch, /*sync=*/false,
                          absl::StrCat("delete the usage of kernel ", kernel));
}

absl::StatusOr<std::vector<UsageRecord>> RocksDbUsageStore::List() {
  ASSIGN_OR_RETURN(std::vector<UsageRecord> records,
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

}  // namespace wavetune
