// How a table comes to serve for another environment, too.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/table_catalog.h"

namespace wavetune {
namespace {

absl::Status CheckSameKernelAndSilicon(const ProfileKey& from,
                                       const ProfileKey& to) {
  if (from.kernel == to.kernel && from.fingerprint == to.fingerprint &&
      from.silicon_key == to.silicon_key) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a table is carried over to another environment of its kernel, version "
      "and silicon: not from ",
      from.kernel, ", ", from.fingerprint, ", ", from.silicon_key, " to ",
      to.kernel, ", ", to.fingerprint, ", ", to.silicon_key));
}

// Returns OK where `incumbent` is the table, and does not serve for the key
// already.
absl::Status CheckStillStale(const std::optional<ServingTable>& incumbent,
                             const TableRecord& table, const ProfileKey& key) {
  if (!incumbent || incumbent->record.digest != table.digest) {
    return absl::AbortedError(absl::StrCat("table ", ShortDigest(table.digest),
                                           " is not what serves by now"));
  }
  if (incumbent->record.IsFor(key.environment_key) &&
      !incumbent->record.unverified) {
    return absl::AbortedError("another job has carried it over meanwhile");
  }
  return absl::OkStatus();
}

// Returns the record of a table as it serves once it is carried over.
TableRecord CarriedOver(TableRecord record,
                        const TableCatalog::CarryingOver& carrying) {
  const std::string measured_in = record.measured_in();
  record.key = carrying.key;
  // Back home it is carried nowhere.
  record.carried_from =
      measured_in == carrying.key.environment_key ? "" : measured_in;
  record.promoted_at_us = carrying.now_us;
  record.how = PromotionKind::kCarriedOver;
  record.job_id = carrying.job_id;
  record.by = carrying.by;
  record.why = carrying.why;
  record.unverified = false;
  return record;
}

}  // namespace

absl::StatusOr<TableRecord> TableCatalog::CarryOver(
    const TableRecord& table, const CarryingOver& carrying) {
  RETURN_IF_ERROR(CheckSameKernelAndSilicon(table.key, carrying.key));
  ASSIGN_OR_RETURN(const StoredPayload stored, store_->Get(table.digest));
  std::lock_guard change_lock(change_mutex_);
  const std::shared_ptr<const TableSnapshot> before = snapshot();
  const PinRecord* const pin =
      before->PinOf(table.key.kernel, table.key.silicon_key);
  if (pin != nullptr && pin->digest != table.digest) {
    return absl::AbortedError(PinnedText(*pin));
  }
  const std::optional<ServingTable> incumbent = Incumbent(carrying.key);
  RETURN_IF_ERROR(CheckStillStale(incumbent, table, carrying.key));
  std::vector<ProfileKey> ended;
  if (incumbent->record.key != carrying.key) {
    ended.push_back(incumbent->record.key);
  }
  ASSIGN_OR_RETURN(const TableRecord carried,
                   store_->RollBack(CarriedOver(incumbent->record, carrying),
                                    stored.payload, ended));
  unsaved_.erase(carried.key);
  TableSnapshot next = *before;
  EraseKey(next, incumbent->record.key);
  // One change for both: to be told that the digest serves no longer under the
  // old key, after that it serves, would only be misread. The store counts
  // each.
  Publish(
      WithPromoted(std::move(next), {carried, incumbent->table}),
      {TableChange::Kind::kPromoted, carried, carried.revision + ended.size()});
  return carried;
}

}  // namespace wavetune
