// What operators do with tables.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/rollback.h"
#include "server/catalog/table_catalog.h"

namespace wavetune {
namespace {

// Returns the tables of one kernel and silicon that a rollback to `target`
// ends; what has its key is replaced.
std::vector<TableRecord> PromotedSince(const TableSnapshot& serving,
                                       const TableRecord& target) {
  std::vector<TableRecord> since;
  for (const ServingTable& table : serving.tables) {
    const TableRecord& record = table.record;
    if (record.key.kernel == target.key.kernel &&
        record.key.silicon_key == target.key.silicon_key &&
        record.digest != target.digest && record.epoch > target.epoch) {
      since.push_back(record);
    }
  }
  return since;
}

// No older table takes the place of one that the kernel as it is now was found
// wrong with.
absl::Status CheckNotFoundWrongSince(const TableSnapshot& serving,
                                     const TableRecord& target) {
  for (const auto& [record, table] : serving.withdrawn) {
    if (record.key.kernel == target.key.kernel &&
        record.key.silicon_key == target.key.silicon_key &&
        record.key != target.key && record.epoch > target.epoch) {
      return absl::FailedPreconditionError(absl::StrCat(
          "kernel ", record.key.kernel,
          " was found wrong since, as it is now: ", record.withdrawn,
          ". Correct the kernel, then profile it: wavetune reprofile --kernel ",
          record.key.kernel));
    }
  }
  return absl::OkStatus();
}

// Whether a rollback to `target` may be done, and would change anything.
absl::Status CheckRollBack(const TableSnapshot& serving,
                           const TableRecord& target,
                           const std::vector<TableRecord>& ended) {
  if (const PinRecord* const pin =
          serving.PinOf(target.key.kernel, target.key.silicon_key)) {
    return absl::FailedPreconditionError(PinnedText(*pin));
  }
  RETURN_IF_ERROR(CheckNotFoundWrongSince(serving, target));
  const bool serves = std::any_of(
      serving.tables.begin(), serving.tables.end(), [&](const ServingTable& t) {
        return t.record.key == target.key && t.record.digest == target.digest;
      });
  if (!serves || !ended.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("table ", ShortDigest(target.digest), " serves already"));
}

bool IsSameKernel(const ProfileKey& a, const ProfileKey& b) {
  return a.kernel == b.kernel && a.silicon_key == b.silicon_key;
}

// Whether a table from elsewhere may take its place among what serves.
absl::Status CheckBeside(const TableRecord& serving,
                         const TableRecord& record) {
  if (!IsSameKernel(serving.key, record.key)) return absl::OkStatus();
  const std::string name = absl::StrCat("table ", ShortDigest(serving.digest));
  // What served on trial is the class's now.
  if (serving.key == record.key && serving.digest == record.digest &&
      serving.unverified == record.unverified &&
      serving.how != PromotionKind::kTrial) {
    return absl::FailedPreconditionError(absl::StrCat(name, " serves already"));
  }
  if (!record.unverified || serving.unverified) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      name, " of kernel ", serving.key.kernel,
      " serves on that silicon and was verified here, which the imported one "
      "was not: import it with --trust, or profile: wavetune reprofile "
      "--kernel ",
      serving.key.kernel));
}

// A profile of another node, or an operator's choice for all: it may take the
// place of one that was found wrong, as a profile here would.
bool IsOfFleet(const TableRecord& record) {
  return record.how == PromotionKind::kFleet ||
         record.how == PromotionKind::kTrial ||
         record.how == PromotionKind::kRolledBack;
}

absl::Status CheckImport(const TableSnapshot& serving,
                         const TableRecord& record) {
  if (const PinRecord* const pin =
          serving.PinOf(record.key.kernel, record.key.silicon_key)) {
    return absl::FailedPreconditionError(PinnedText(*pin));
  }
  for (const ServingTable& withdrawn : serving.withdrawn) {
    const TableRecord& wrong = withdrawn.record;
    if (!IsSameKernel(wrong.key, record.key) ||
        wrong.key.fingerprint != record.key.fingerprint ||
        (IsOfFleet(record) && wrong.digest != record.digest)) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "this version of kernel ", record.key.kernel,
        " was found wrong here: ", wrong.withdrawn,
        ". Correct the kernel, then profile it: wavetune reprofile --kernel ",
        record.key.kernel));
  }
  for (const ServingTable& table : serving.tables) {
    RETURN_IF_ERROR(CheckBeside(table.record, record));
  }
  return absl::OkStatus();
}

// An operator chose neither it nor its like, and nobody verified it.
bool IsReplacedByShipped(const TableRecord& serving) {
  return serving.how == PromotionKind::kShipped && serving.unverified;
}

// Whether `tables`, which begin with `digest`, may be retired.
absl::Status CheckRetire(const TableSnapshot& serving,
                         const std::vector<TableRecord>& tables,
                         absl::string_view digest) {
  if (tables.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no table that serves has digest ", digest,
                     ": wavetune tables list shows what does"));
  }
  for (const TableRecord& table : tables) {
    if (table.digest != tables.front().digest) {
      return absl::FailedPreconditionError(
          absl::StrCat("several tables begin with ", digest, ": ",
                       tables.front().digest, " and ", table.digest));
    }
    if (const PinRecord* const pin =
            serving.PinOf(table.key.kernel, table.key.silicon_key)) {
      return absl::FailedPreconditionError(PinnedText(*pin));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TableCatalog::RolledBack> TableCatalog::RollBack(
    const TableRecord& target, const std::string& by, const std::string& why,
    int64_t now_us) {
  ASSIGN_OR_RETURN(StoredPayload stored, store_->Get(target.digest));
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(stored.payload));
  std::lock_guard change_lock(change_mutex_);
  const std::shared_ptr<const TableSnapshot> before = snapshot();
  RolledBack result{.ended = PromotedSince(*before, target)};
  RETURN_IF_ERROR(CheckRollBack(*before, target, result.ended));
  TableRecord record = target;
  record.promoted_at_us = now_us;
  record.how = PromotionKind::kRolledBack;
  record.by = by;
  record.why = why;
  ASSIGN_OR_RETURN(
      result.table,
      PromoteInPlaceOf(result.ended, std::move(record),
                       {std::move(stored.payload), std::move(table)},
                       "rolled back to table "));
  return result;
}

absl::StatusOr<TableRecord> TableCatalog::PromoteInPlaceOf(
    const std::vector<TableRecord>& ended, TableRecord record, NewTable table,
    absl::string_view why_ended) {
  std::vector<ProfileKey> others;
  for (const TableRecord& gone : ended) {
    if (gone.key != record.key) others.push_back(gone.key);
  }
  ASSIGN_OR_RETURN(const TableRecord stored,
                   store_->RollBack(std::move(record), table.payload, others));
  unsaved_.erase(stored.key);
  uint64_t revision = stored.revision;
  TableSnapshot promoted = *snapshot();
  // The same table under another environment: one change for both, as to be
  // told that it serves no longer would only be misread.
  for (const TableRecord& gone : ended) {
    if (gone.key == stored.key || gone.digest != stored.digest) continue;
    EraseKey(promoted, gone.key);
    ++revision;
  }
  Publish(WithPromoted(std::move(promoted), {stored, std::move(table.table)}),
          {TableChange::Kind::kPromoted, stored, revision});
  // After the promotion: nobody is without a table in between.
  for (const TableRecord& gone : ended) {
    if (gone.key == stored.key || gone.digest == stored.digest) continue;
    TableSnapshot next = *snapshot();
    EraseKey(next, gone.key);
    Publish(std::move(next),
            {.kind = TableChange::Kind::kRetired,
             .table = gone,
             .revision = ++revision,
             .by = stored.by,
             .why = absl::StrCat(why_ended, ShortDigest(stored.digest))});
  }
  return stored;
}

absl::StatusOr<TableRecord> TableCatalog::Pin(PinRecord pin) {
  std::lock_guard change_lock(change_mutex_);
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  const TableRecord* kept = nullptr;
  for (const ServingTable& table : serving->tables) {
    if (table.record.key.kernel == pin.kernel &&
        table.record.key.silicon_key == pin.silicon_key &&
        (kept == nullptr || kept->epoch < table.record.epoch)) {
      kept = &table.record;
    }
  }
  if (kept == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "no table of kernel ", pin.kernel, " serves on ", pin.silicon_key,
        ": wavetune tables list shows what does"));
  }
  pin.digest = kept->digest;
  RETURN_IF_ERROR(store_->Pin(pin));
  RETURN_IF_ERROR(ReadPins());
  return *kept;
}

absl::Status TableCatalog::Unpin(absl::string_view kernel,
                                 absl::string_view silicon_key) {
  std::lock_guard change_lock(change_mutex_);
  RETURN_IF_ERROR(store_->Unpin(kernel, silicon_key));
  return ReadPins();
}

absl::StatusOr<TableCatalog::RolledBack> TableCatalog::Import(
    TableRecord record, const std::string& payload,
    const std::function<bool(const TableRecord&)>& also_ends) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(payload));
  record.digest = table->digest();
  std::lock_guard change_lock(change_mutex_);
  const std::shared_ptr<const TableSnapshot> before = snapshot();
  RETURN_IF_ERROR(CheckImport(*before, record));
  RolledBack result;
  std::vector<TableRecord> ended;
  for (const ServingTable& serving : before->tables) {
    const TableRecord& other = serving.record;
    if (other.key == record.key && other.digest != record.digest) {
      result.ended.push_back(other);
      ended.push_back(other);
    } else if (other.key != record.key && other.digest == record.digest &&
               IsSameKernel(other.key, record.key) &&
               other.key.fingerprint == record.key.fingerprint &&
               also_ends(other)) {
      ended.push_back(other);
    }
  }
  ASSIGN_OR_RETURN(result.table,
                   PromoteInPlaceOf(ended, std::move(record),
                                    {payload, std::move(table)}, ""));
  return result;
}

absl::StatusOr<TableRecord> TableCatalog::Ship(TableRecord record,
                                               const std::string& payload) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(payload));
  record.digest = table->digest();
  record.how = PromotionKind::kShipped;
  record.by = kDaemonUser;
  record.unverified = true;
  std::lock_guard change_lock(change_mutex_);
  const std::shared_ptr<const TableSnapshot> before = snapshot();
  RETURN_IF_ERROR(CheckImport(*before, record));
  std::vector<TableRecord> ended;
  for (const ServingTable& serving : before->tables) {
    if (!IsSameKernel(serving.record.key, record.key)) continue;
    if (!IsReplacedByShipped(serving.record)) {
      return absl::FailedPreconditionError(
          absl::StrCat("table ", ShortDigest(serving.record.digest),
                       " serves, which did not come with the kernel"));
    }
    ended.push_back(serving.record);
  }
  ASSIGN_OR_RETURN(const std::vector<TableRecord> history,
                   store_->History(record.key.kernel, record.key.silicon_key));
  for (const TableRecord& known : history) {
    if (known.digest != record.digest) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        "table ", ShortDigest(record.digest), " has served before"));
  }
  return PromoteInPlaceOf(ended, std::move(record), {payload, std::move(table)},
                          "shipped anew with the kernel: table ");
}

absl::Status TableCatalog::Retire(const ProfileKey& key, const std::string& by,
                                  const std::string& why) {
  std::lock_guard change_lock(change_mutex_);
  ASSIGN_OR_RETURN(const uint64_t revision, store_->Retire(key));
  unsaved_.erase(key);
  TableSnapshot next = *snapshot();
  const auto it =
      std::find_if(next.tables.begin(), next.tables.end(),
                   [&](const ServingTable& t) { return t.record.key == key; });
  TableChange change{.kind = TableChange::Kind::kRetired,
                     .revision = revision,
                     .by = by,
                     .why = why};
  change.table.key = key;
  // Absent where it was left out as corrupt.
  if (it != next.tables.end()) change.table = it->record;
  EraseKey(next, key);
  Publish(std::move(next), change);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableRecord>> TableCatalog::RetireByDigest(
    absl::string_view digest, const std::string& by, const std::string& why,
    const Which& which) {
  if (digest.size() < kMinDigestPrefix) {
    return absl::InvalidArgumentError(absl::StrCat(
        "give at least ", kMinDigestPrefix, " digits of a digest"));
  }
  std::vector<TableRecord> tables;
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  for (const ServingTable& table : serving->tables) {
    if (absl::StartsWith(table.record.digest, digest))
      tables.push_back(table.record);
  }
  RETURN_IF_ERROR(CheckRetire(*serving, tables, digest));
  ASSIGN_OR_RETURN(tables, which(std::move(tables)));
  for (const TableRecord& table : tables) {
    RETURN_IF_ERROR(Retire(table.key, by, why));
  }
  return tables;
}

}  // namespace wavetune
