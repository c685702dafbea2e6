#include "server/store/rocksdb_table_store.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_records.h"

namespace wavetune {
namespace {

constexpr absl::string_view kEpochName = "epoch";
constexpr absl::string_view kRevisionName = "revision";

}  // namespace

absl::StatusOr<std::unique_ptr<RocksDbTableStore>> RocksDbTableStore::Create(
    RocksDbDatabase* database) {
  std::unique_ptr<RocksDbTableStore> store(new RocksDbTableStore(database));
  ASSIGN_OR_RETURN(store->epoch_, database->GetNumber(kEpochName));
  ASSIGN_OR_RETURN(store->revision_, database->GetNumber(kRevisionName));
  return store;
}

RocksDbTableStore::RocksDbTableStore(RocksDbDatabase* database)
    : database_(database) {}

absl::StatusOr<TableRecord> RocksDbTableStore::Promote(
    TableRecord record, absl::string_view payload) {
  return RollBack(std::move(record), payload, /*ended=*/{});
}

absl::StatusOr<TableRecord> RocksDbTableStore::RollBack(
    TableRecord record, absl::string_view payload,
    const std::vector<ProfileKey>& ended) {
  record.digest = Sha256Hex(payload);
  record.size_bytes = static_cast<int64_t>(payload.size());
  std::lock_guard lock(mutex_);
  record.epoch = epoch_ + 1;
  record.revision = revision_ + 1;
  StoreBatch batch;
  batch.Put(Family::kTables, PayloadKey(record.digest),
            EncodeStoredTable(record, payload));
  batch.Put(Family::kTables, ServingKey(record.key),
            EncodeStoredTableRecord(record));
  batch.Put(Family::kTables, HistoryKey(record.epoch),
            EncodeStoredTableRecord(record));
  batch.Delete(Family::kTables, WithdrawnKey(record.key));
  for (const ProfileKey& key : ended) {
    batch.Delete(Family::kTables, ServingKey(key));
  }
  const uint64_t revision = record.revision + ended.size();
  database_->PutNumber(kEpochName, record.epoch, batch);
  database_->PutNumber(kRevisionName, revision, batch);
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/true, "promote a table"));
  epoch_ = record.epoch;
  revision_ = revision;
  return record;
}

absl::StatusOr<TableRecord> RocksDbTableStore::Withdraw(TableRecord record) {
  std::lock_guard lock(mutex_);
  record.epoch = epoch_ + 1;
  record.revision = revision_ + 1;
  StoreBatch batch;
  batch.Delete(Family::kTables, ServingKey(record.key));
  batch.Put(Family::kTables, WithdrawnKey(record.key),
            EncodeStoredTableRecord(record));
  batch.Put(Family::kTables, HistoryKey(record.epoch),
            EncodeStoredTableRecord(record));
  database_->PutNumber(kEpochName, record.epoch, batch);
  database_->PutNumber(kRevisionName, record.revision, batch);
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/true, "withdraw a table"));
  epoch_ = record.epoch;
  revision_ = record.revision;
  return record;
}

absl::StatusOr<bool> RocksDbTableStore::Has(const std::string& key) {
  const absl::StatusOr<std::optional<std::string>> entry =
      database_->Get(Family::kTables, key);
  // A damaged entry can be retired, too.
  if (absl::IsDataLoss(entry.status())) return true;
  RETURN_IF_ERROR(entry.status());
  return entry->has_value();
}

absl::StatusOr<uint64_t> RocksDbTableStore::Retire(const ProfileKey& key) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const bool serves, Has(ServingKey(key)));
  ASSIGN_OR_RETURN(const bool withdrawn, Has(WithdrawnKey(key)));
  if (!serves && !withdrawn) {
    return absl::NotFoundError(absl::StrCat("no table serves for kernel '",
                                            key.kernel, "', fingerprint ",
                                            key.fingerprint));
  }
  const uint64_t revision = revision_ + 1;
  StoreBatch batch;
  batch.Delete(Family::kTables, ServingKey(key));
  batch.Delete(Family::kTables, WithdrawnKey(key));
  database_->PutNumber(kRevisionName, revision, batch);
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/true, "retire a table"));
  revision_ = revision;
  return revision;
}

absl::StatusOr<StoredPayload> RocksDbTableStore::Get(absl::string_view digest) {
  const std::string key = PayloadKey(digest);
  const absl::StatusOr<std::optional<std::string>> bytes =
      database_->Get(Family::kTables, key);
  absl::Status damage = bytes.status();
  if (bytes.ok()) {
    if (!bytes->has_value()) {
      return absl::NotFoundError(absl::StrCat(
          "no table in the store has digest ", absl::CHexEscape(digest)));
    }
    absl::StatusOr<StoredPayload> table = DecodeStoredTable(**bytes);
    if (table.ok() && table->record.digest == digest) return table;
    damage = table.ok() ? absl::DataLossError(absl::StrCat(
                              "it holds table ", table->record.digest))
                        : table.status();
  } else if (!absl::IsDataLoss(damage)) {
    return damage;
  }
  database_->ReportCorrupt(Family::kTables, key, damage);
  return absl::Status(
      damage.code(),
      absl::StrCat("table ", digest, " cannot be used: ", damage.message(),
                   "; reprofile its kernel or restore a backup"));
}

absl::StatusOr<std::vector<TableRecord>> RocksDbTableStore::ListServing() {
  return List(kServingPrefix, ServingKey);
}

absl::StatusOr<std::vector<TableRecord>> RocksDbTableStore::ListWithdrawn() {
  return List(kWithdrawnPrefix, WithdrawnKey);
}

absl::StatusOr<std::vector<TableRecord>> RocksDbTableStore::History(
    absl::string_view kernel, absl::string_view silicon_key) {
  ASSIGN_OR_RETURN(
      std::vector<TableRecord> records,
      database_->ReadAll<TableRecord>(
          Family::kTables, kHistoryPrefix,
          [](absl::string_view key,
             absl::string_view value) -> absl::StatusOr<TableRecord> {
            ASSIGN_OR_RETURN(TableRecord record,
                             DecodeStoredTableRecord(value));
            if (HistoryKey(record.epoch) == key) return record;
            return absl::DataLossError("the entry belongs to another epoch");
          }));
  std::erase_if(records, [&](const TableRecord& record) {
    return record.key.kernel != kernel || record.key.silicon_key != silicon_key;
  });
  std::reverse(records.begin(), records.end());
  return records;
}

absl::Status RocksDbTableStore::Reject(RejectedTable table,
                                       absl::string_view payload) {
  TableRecord& record = table.record;
  record.digest = Sha256Hex(payload);
  record.size_bytes = static_cast<int64_t>(payload.size());
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(std::vector<RejectedTable> kept,
                   ListRejected(record.key.kernel, record.key.silicon_key));
  std::erase_if(kept, [&](const RejectedTable& other) {
    return other.record.job_id == record.job_id;
  });
  StoreBatch batch;
  // What has served keeps its record.
  ASSIGN_OR_RETURN(const bool known, Has(PayloadKey(record.digest)));
  if (!known) {
    batch.Put(Family::kTables, PayloadKey(record.digest),
              EncodeStoredTable(record, payload));
  }
  if (kept.size() >= kRejectedKept) {
    kept.erase(kept.begin(), kept.begin() + (kRejectedKept - 1));
    ASSIGN_OR_RETURN(std::set<std::string> in_use, DigestsInUse(kept));
    in_use.insert(record.digest);
    for (const RejectedTable& old : kept) {
      batch.Delete(Family::kTables, RejectedKey(old.record));
      if (!in_use.contains(old.record.digest))
        batch.Delete(Family::kTables, PayloadKey(old.record.digest));
    }
  }
  batch.Put(Family::kTables, RejectedKey(record), EncodeStoredRejected(table));
  return database_->Write(batch, /*sync=*/false, "keep a rejected table");
}

absl::StatusOr<std::set<std::string>> RocksDbTableStore::DigestsInUse(
    const std::vector<RejectedTable>& forgotten) {
  std::set<std::string> digests;
  for (const absl::string_view prefix :
       {kServingPrefix, kWithdrawnPrefix, kHistoryPrefix}) {
    ASSIGN_OR_RETURN(const std::vector<TableRecord> records,
                     database_->ReadAll<TableRecord>(
                         Family::kTables, prefix,
                         [](absl::string_view, absl::string_view value) {
                           return DecodeStoredTableRecord(value);
                         }));
    for (const TableRecord& record : records) digests.insert(record.digest);
  }
  ASSIGN_OR_RETURN(const std::vector<RejectedTable> rejected,
                   database_->ReadAll<RejectedTable>(
                       Family::kTables, kRejectedPrefix,
                       [](absl::string_view, absl::string_view value) {
                         return DecodeStoredRejected(value);
                       }));
  for (const RejectedTable& table : rejected) {
    if (std::find(forgotten.begin(), forgotten.end(), table) ==
        forgotten.end()) {
      digests.insert(table.record.digest);
    }
  }
  return digests;
}

absl::StatusOr<TableStore::Inventory> RocksDbTableStore::TakeInventory() {
  Inventory inventory;
  ASSIGN_OR_RETURN(inventory.history,
                   database_->ReadAll<TableRecord>(
                       Family::kTables, kHistoryPrefix,
                       [](absl::string_view, absl::string_view value) {
                         return DecodeStoredTableRecord(value);
                       }));
  ASSIGN_OR_RETURN(
      inventory.payloads,
      database_->ReadAll<TableRecord>(
          Family::kTables, kPayloadPrefix,
          [](absl::string_view,
             absl::string_view value) -> absl::StatusOr<TableRecord> {
            ASSIGN_OR_RETURN(StoredPayload stored, DecodeStoredTable(value));
            return std::move(stored.record);
          }));
  ASSIGN_OR_RETURN(const std::vector<RejectedTable> rejected,
                   database_->ReadAll<RejectedTable>(
                       Family::kTables, kRejectedPrefix,
                       [](absl::string_view, absl::string_view value) {
                         return DecodeStoredRejected(value);
                       }));
  for (const RejectedTable& table : rejected)
    inventory.rejected.insert(table.record.digest);
  return inventory;
}

absl::StatusOr<int> RocksDbTableStore::Forget(
    const std::vector<std::string>& digests) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory());
  std::set<std::string> stay = inventory.rejected;
  ASSIGN_OR_RETURN(const std::vector<TableRecord> serving, ListServing());
  ASSIGN_OR_RETURN(const std::vector<TableRecord> withdrawn, ListWithdrawn());
  ASSIGN_OR_RETURN(const std::vector<PinRecord> pins, ListPins());
  for (const TableRecord& record : serving) stay.insert(record.digest);
  for (const TableRecord& record : withdrawn) stay.insert(record.digest);
  for (const PinRecord& pin : pins) stay.insert(pin.digest);
  const std::set<std::string> asked(digests.begin(), digests.end());
  StoreBatch batch;
  std::set<std::string> gone;
  for (const TableRecord& record : inventory.payloads) {
    if (!asked.contains(record.digest) || stay.contains(record.digest))
      continue;
    gone.insert(record.digest);
    batch.Delete(Family::kTables, PayloadKey(record.digest));
  }
  for (const TableRecord& record : inventory.history) {
    if (gone.contains(record.digest))
      batch.Delete(Family::kTables, HistoryKey(record.epoch));
  }
  if (gone.empty()) return 0;
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/true, "forget old tables"));
  return static_cast<int>(gone.size());
}

absl::StatusOr<std::vector<RejectedTable>> RocksDbTableStore::ListRejected(
    absl::string_view kernel, absl::string_view silicon_key) {
  ASSIGN_OR_RETURN(
      std::vector<RejectedTable> tables,
      database_->ReadAll<RejectedTable>(
          Family::kTables, RejectedPrefix(kernel, silicon_key),
          [](absl::string_view key,
             absl::string_view value) -> absl::StatusOr<RejectedTable> {
            ASSIGN_OR_RETURN(RejectedTable table, DecodeStoredRejected(value));
            if (RejectedKey(table.record) == key) return table;
            return absl::DataLossError("the entry belongs to another job");
          }));
  std::reverse(tables.begin(), tables.end());
  return tables;
}

absl::Status RocksDbTableStore::Pin(const PinRecord& pin) {
  StoreBatch batch;
  batch.Put(Family::kTables, PinKey(pin.kernel, pin.silicon_key),
            EncodeStoredPin(pin));
  return database_->Write(batch, /*sync=*/true, "pin a table");
}

absl::Status RocksDbTableStore::Unpin(absl::string_view kernel,
                                      absl::string_view silicon_key) {
  const std::string key = PinKey(kernel, silicon_key);
  ASSIGN_OR_RETURN(const bool pinned, Has(key));
  if (!pinned) {
    return absl::NotFoundError(
        absl::StrCat("kernel '", kernel, "' is not pinned"));
  }
  StoreBatch batch;
  batch.Delete(Family::kTables, key);
  return database_->Write(batch, /*sync=*/true, "unpin a table");
}

absl::StatusOr<std::vector<PinRecord>> RocksDbTableStore::ListPins() {
  ASSIGN_OR_RETURN(
      std::vector<PinRecord> pins,
      database_->ReadAll<PinRecord>(
          Family::kTables, kPinPrefix,
          [](absl::string_view key,
             absl::string_view value) -> absl::StatusOr<PinRecord> {
            ASSIGN_OR_RETURN(PinRecord pin, DecodeStoredPin(value));
            if (PinKey(pin.kernel, pin.silicon_key) == key) return pin;
            return absl::DataLossError("the entry belongs to another key");
          }));
  std::sort(pins.begin(), pins.end(),
            [](const PinRecord& a, const PinRecord& b) {
              return std::tie(a.kernel, a.silicon_key) <
                     std::tie(b.kernel, b.silicon_key);
            });
  return pins;
}

absl::StatusOr<std::vector<TableRecord>> RocksDbTableStore::List(
    absl::string_view prefix, std::string (*key_of)(const ProfileKey&)) {
  ASSIGN_OR_RETURN(
      std::vector<TableRecord> records,
      database_->ReadAll<TableRecord>(
          Family::kTables, prefix,
          [&](absl::string_view key,
              absl::string_view value) -> absl::StatusOr<TableRecord> {
            ASSIGN_OR_RETURN(TableRecord record,
                             DecodeStoredTableRecord(value));
            if (key_of(record.key) == key) return record;
            return absl::DataLossError("the entry belongs to another key");
          }));
  // Stored keys sort by the lengths of their parts first.
  std::sort(
      records.begin(), records.end(),
      [](const TableRecord& a, const TableRecord& b) { return a.key < b.key; });
  return records;
}

}  // namespace wavetune
