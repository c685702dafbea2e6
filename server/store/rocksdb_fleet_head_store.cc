#include "server/store/rocksdb_fleet_head_store.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_format.h"

namespace wavetune {
namespace {

absl::StatusOr<v1::StoredFleetHead> DecodeEntry(absl::string_view key,
                                                absl::string_view value) {
  ASSIGN_OR_RETURN(v1::StoredFleetHead head,
                   ParseStored<v1::StoredFleetHead>(value));
  if (FleetHeadKey(head.key()) == key) return head;
  return absl::DataLossError("the entry belongs to another head");
}

}  // namespace

absl::Status RocksDbFleetHeadStore::Put(absl::string_view key,
                                        const StoredFleetHead& head) {
  v1::StoredFleetHead stored;
  stored.set_format(kStoredFormat);
  stored.set_key(std::string(key));
  stored.set_head(head.bytes);
  stored.set_table_epoch(head.table_epoch);
  stored.set_halted_epoch(head.halted_epoch);
  stored.set_halted_digest(head.halted_digest);
  stored.set_halted_why(head.halted_why);
  StoreBatch batch;
  batch.Put(Family::kKernels, FleetHeadKey(key), SerializeStored(stored));
  return database_->Write(batch, /*sync=*/true,
                          absl::StrCat("store the fleet's head ", key));
}

absl::StatusOr<std::map<std::string, StoredFleetHead>>
RocksDbFleetHeadStore::List() {
  ASSIGN_OR_RETURN(const std::vector<v1::StoredFleetHead> stored,
                   database_->ReadAll<v1::StoredFleetHead>(
                       Family::kKernels, kFleetHeadPrefix, DecodeEntry));
  std::map<std::string, StoredFleetHead> heads;
  for (const v1::StoredFleetHead& head : stored)
    heads[head.key()] = {.bytes = head.head(),
                         .table_epoch = head.table_epoch(),
                         .halted_epoch = head.halted_epoch(),
                         .halted_digest = head.halted_digest(),
                         .halted_why = head.halted_why()};
  return heads;
}

}  // namespace wavetune
