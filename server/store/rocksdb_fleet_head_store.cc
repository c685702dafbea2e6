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
                                        absl::string_view bytes) {
  v1::StoredFleetHead head;
  head.set_format(kStoredFormat);
  head.set_key(std::string(key));
  head.set_head(std::string(bytes));
  StoreBatch batch;
  batch.Put(Family::kKernels, FleetHeadKey(key), SerializeStored(head));
  return database_->Write(batch, /*sync=*/true,
                          absl::StrCat("store the fleet's head ", key));
}

absl::StatusOr<std::map<std::string, std::string>>
RocksDbFleetHeadStore::List() {
  ASSIGN_OR_RETURN(const std::vector<v1::StoredFleetHead> stored,
                   database_->ReadAll<v1::StoredFleetHead>(
                       Family::kKernels, kFleetHeadPrefix, DecodeEntry));
  std::map<std::string, std::string> heads;
  for (const v1::StoredFleetHead& head : stored)
    heads[head.key()] = head.head();
  return heads;
}

}  // namespace wavetune
