// RocksDbTableStore: TableStore in column family tables; epoch and revision in
// meta.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_TABLE_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_TABLE_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/rocksdb_database.h"
#include "server/store/table_store.h"

namespace wavetune {

class RocksDbTableStore : public TableStore {
 public:
  // `database` must outlive the store. Errors: as FromRocksDb.
  static absl::StatusOr<std::unique_ptr<RocksDbTableStore>> Create(
      RocksDbDatabase* database);

  absl::StatusOr<TableRecord> Promote(TableRecord record,
                                      absl::string_view payload) override;
  absl::StatusOr<TableRecord> RollBack(
      TableRecord record, absl::string_view payload,
      const std::vector<ProfileKey>& ended) override;
  absl::StatusOr<std::vector<TableRecord>> History(
      absl::string_view kernel, absl::string_view silicon_key) override;
  absl::Status Reject(RejectedTable table, absl::string_view payload) override;
  absl::StatusOr<std::vector<RejectedTable>> ListRejected(
      absl::string_view kernel, absl::string_view silicon_key) override;
  absl::Status Pin(const PinRecord& pin) override;
  absl::Status Unpin(absl::string_view kernel,
                     absl::string_view silicon_key) override;
  absl::StatusOr<std::vector<PinRecord>> ListPins() override;
  absl::StatusOr<uint64_t> Retire(const ProfileKey& key) override;
  absl::StatusOr<TableRecord> Withdraw(TableRecord record) override;
  absl::StatusOr<Inventory> TakeInventory() override;
  absl::StatusOr<int> Forget(const std::vector<std::string>& digests) override;
  absl::StatusOr<std::vector<TableRecord>> ListWithdrawn() override;
  // Also: FAILED_PRECONDITION for a table in a format newer than this
  // program's (counted as corrupt).
  absl::StatusOr<StoredPayload> Get(absl::string_view digest) override;
  absl::StatusOr<std::vector<TableRecord>> ListServing() override;
  uint64_t Revision() override { return revision_; }

 private:
  explicit RocksDbTableStore(RocksDbDatabase* database);
  // Returns the digests of payloads that must stay: those that have served, and
  // those rejected but not among `forgotten`. Holds mutex_.
  absl::StatusOr<std::set<std::string>> DigestsInUse(
      const std::vector<RejectedTable>& forgotten);
  // Returns whether there is an entry, damaged or not.
  absl::StatusOr<bool> Has(const std::string& key);
  // Returns the records under one prefix, sorted by key; `key_of` gives the key
  // that belongs to a record. Damaged records are counted and left out.
  absl::StatusOr<std::vector<TableRecord>> List(
      absl::string_view prefix, std::string (*key_of)(const ProfileKey&));

  RocksDbDatabase* const database_;
  std::mutex mutex_;    // Held while writing.
  uint64_t epoch_ = 0;  // Guarded by mutex_.
  std::atomic<uint64_t> revision_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_TABLE_STORE_H_
