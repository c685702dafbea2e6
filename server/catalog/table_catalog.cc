#include "server/catalog/table_catalog.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/key_difference.h"

namespace wavetune {
namespace {

std::string Describe(const TableRecord& record) {
  return absl::StrCat("fingerprint ", record.key.fingerprint, ", ",
                      record.key.silicon_key, ", ", record.key.environment_key,
                      " (", record.device_label, "), digest ", record.digest,
                      record.withdrawn.empty() ? "" : ", withdrawn");
}

// What may answer a query: a table that serves, or one that was withdrawn.
struct Choice {
  const ServingTable* table = nullptr;
  bool withdrawn = false;

  const TableRecord& record() const { return table->record; }
  const ProfileKey& key() const { return record().key; }
};

std::vector<Choice> ChoicesOf(const TableSnapshot& snapshot,
                              const std::string& kernel) {
  std::vector<Choice> choices;
  for (const ServingTable& table : snapshot.tables) {
    if (table.record.key.kernel == kernel) {
      choices.push_back({&table, /*withdrawn=*/false});
    }
  }
  for (const ServingTable& table : snapshot.withdrawn) {
    if (table.record.key.kernel == kernel) {
      choices.push_back({&table, /*withdrawn=*/true});
    }
  }
  return choices;
}

std::string DescribeAll(const std::vector<Choice>& choices) {
  return absl::StrJoin(choices, "\n  ",
                       [](std::string* out, const Choice& choice) {
                         absl::StrAppend(out, Describe(choice.record()));
                       });
}

absl::Status NothingFound(const TableQuery& query,
                          const TableSnapshot& snapshot) {
  const std::vector<Choice> same_kernel = ChoicesOf(snapshot, query.kernel);
  std::set<std::string> kernels;
  for (const ServingTable& table : snapshot.tables) {
    kernels.insert(table.record.key.kernel);
  }
  std::string message =
      absl::StrCat("no table of kernel \"", query.kernel, "\"");
  if (query.device) {
    absl::StrAppend(&message, " for device ", query.device->uuid, " (",
                    SiliconKey(*query.device), ")");
  }
  if (!query.fingerprint.empty()) {
    absl::StrAppend(&message, " with fingerprint ", query.fingerprint);
  }
  if (!same_kernel.empty()) {
    absl::StrAppend(&message, "; this kernel has:\n  ",
                    DescribeAll(same_kernel));
  } else if (!kernels.empty()) {
    absl::StrAppend(&message,
                    "; kernels with tables: ", absl::StrJoin(kernels, ", "));
  } else {
    absl::StrAppend(&message, "; no kernel has one yet");
  }
  absl::StrAppend(&message, ". Profile it: wavetune reprofile --kernel ",
                  query.kernel);
  return absl::NotFoundError(message);
}

absl::Status WasWithdrawn(const TableRecord& record) {
  return absl::NotFoundError(absl::StrCat(
      "the table of kernel \"", record.key.kernel, "\" (digest ", record.digest,
      ") was withdrawn: ", record.withdrawn,
      ". Correct the kernel, then profile it: wavetune reprofile --kernel ",
      record.key.kernel));
}

// Keeps those for which `keep` holds, unless that would leave none.
template <typename Predicate>
void Prefer(std::vector<Choice>& choices, Predicate keep) {
  if (std::none_of(choices.begin(), choices.end(), keep)) return;
  std::erase_if(choices, [&](const Choice& c) { return !keep(c); });
}

const Choice& Newest(const std::vector<Choice>& choices) {
  return *std::max_element(choices.begin(), choices.end(),
                           [](const Choice& a, const Choice& b) {
                             return a.record().epoch < b.record().epoch;
                           });
}

// Says which table cannot be read, why, and what to do.
std::string WhyLeftOut(const TableRecord& record, const absl::Status& status) {
  std::string why =
      absl::StrCat("table ", ShortDigest(record.digest), " of kernel ",
                   record.key.kernel, " left out: ", status.message());
  // Of another release: the message says what to do.
  if (absl::IsUnimplemented(status)) return why;
  absl::StrAppend(&why, ". Its stored samples may suffice: wavetune reprofile ",
                  "--kernel ", record.key.kernel,
                  " --refit-only; without --refit-only it is measured again");
  return why;
}

// Returns what answers the query. Errors: as TableCatalog::Find, but for what
// was withdrawn.
absl::StatusOr<Choice> Choose(const TableSnapshot& serving,
                              const TableQuery& query) {
  if (!query.fingerprint.empty() &&
      query.fingerprint.size() < TableCatalog::kMinFingerprintPrefix) {
    return absl::InvalidArgumentError(
        absl::StrCat("fingerprint prefix \"", query.fingerprint,
                     "\" is too short: give at least ",
                     TableCatalog::kMinFingerprintPrefix, " characters"));
  }
  const std::string silicon = query.device ? SiliconKey(*query.device) : "";
  const std::string environment =
      query.device ? EnvironmentKey(*query.device) : "";
  std::vector<Choice> fitting = ChoicesOf(serving, query.kernel);
  std::erase_if(fitting, [&](const Choice& c) {
    return !absl::StartsWith(c.key().fingerprint, query.fingerprint) ||
           (query.device && c.key().silicon_key != silicon);
  });
  if (fitting.empty()) return NothingFound(query, serving);
  if (fitting.size() > 1 && query.fingerprint.empty() &&
      query.current_fingerprint) {
    const std::string current = query.current_fingerprint();
    Prefer(fitting,
           [&](const Choice& c) { return c.key().fingerprint == current; });
  }
  if (query.device) {
    Prefer(fitting,
           [&](const Choice& c) { return c.record().IsFor(environment); });
  }
  std::set<std::tuple<std::string, std::string>> distinct;
  for (const Choice& choice : fitting) {
    // Who names no fingerprint wants the kernel, whatever its version.
    distinct.emplace(query.fingerprint.empty() ? "" : choice.key().fingerprint,
                     choice.key().silicon_key);
  }
  if (distinct.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "several tables of kernel \"", query.kernel,
        "\" fit: give a device UUID, a fingerprint or a digest. Choices:\n  ",
        DescribeAll(fitting)));
  }
  // What is left is of one silicon: the newest is the nearest.
  return Newest(fitting);
}

}  // namespace

TableCatalog::TableCatalog(TableStore* store, Warn warn)
    : store_(store),
      warn_(std::move(warn)),
      snapshot_(std::make_shared<const TableSnapshot>()) {}

absl::Status TableCatalog::Load() {
  std::lock_guard change_lock(change_mutex_);
  ASSIGN_OR_RETURN(const std::vector<TableRecord> records,
                   store_->ListServing());
  auto snapshot = std::make_shared<TableSnapshot>();
  ASSIGN_OR_RETURN(const std::vector<TableRecord> withdrawn,
                   store_->ListWithdrawn());
  snapshot->revision = store_->Revision();
  ASSIGN_OR_RETURN(snapshot->pins, store_->ListPins());
  for (const TableRecord& record : records) {
    absl::StatusOr<ServingTable> table = Get(record.digest);
    if (!table.ok()) {
      snapshot->left_out.push_back(
          {record.key, WhyLeftOut(record, table.status())});
      warn_(snapshot->left_out.back().why);
      continue;
    }
    snapshot->tables.push_back({record, table->table});
  }
  for (const TableRecord& record : withdrawn) {
    const absl::StatusOr<ServingTable> table = Get(record.digest);
    if (!table.ok()) {
      warn_(absl::StrCat("withdrawn table of kernel ", record.key.kernel,
                         " cannot be read: ", table.status().message()));
    }
    snapshot->withdrawn.push_back(
        {record, table.ok() ? table->table : nullptr});
  }
  EraseReplacedLeftOut(*snapshot);
  std::lock_guard lock(mutex_);
  changes_.clear();
  changes_from_ = snapshot->revision;
  snapshot_ = std::move(snapshot);
  return absl::OkStatus();
}

std::shared_ptr<const TableSnapshot> TableCatalog::snapshot() const {
  std::lock_guard lock(mutex_);
  return snapshot_;
}

absl::StatusOr<TableMatch> TableCatalog::Find(const TableQuery& query) const {
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  ASSIGN_OR_RETURN(const Choice choice, Choose(*serving, query));
  if (choice.withdrawn) return WasWithdrawn(choice.record());
  TableMatch match{.serving = *choice.table};
  if (query.device) {
    const std::string environment = EnvironmentKey(*query.device);
    if (!choice.record().IsFor(environment)) {
      match.stale_reason =
          KeyDifference(choice.key().environment_key, environment);
    }
  }
  return match;
}

std::optional<ServingTable> TableCatalog::FindWithdrawn(
    const TableQuery& query) const {
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  const absl::StatusOr<Choice> choice = Choose(*serving, query);
  if (!choice.ok() || !choice->withdrawn) return std::nullopt;
  return *choice->table;
}

absl::StatusOr<ServingTable> TableCatalog::Get(absl::string_view digest) const {
  if (!IsSha256Hex(digest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", digest, "\" is no digest: 64 lower-case hexadecimal digits"));
  }
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  for (const ServingTable& table : serving->tables) {
    if (table.record.digest == digest) return table;
  }
  ASSIGN_OR_RETURN(StoredPayload stored, store_->Get(digest));
  ASSIGN_OR_RETURN(std::unique_ptr<const CompiledTable> table,
                   CompiledTable::Create(stored.payload));
  return ServingTable{std::move(stored.record), std::move(table)};
}

absl::StatusOr<std::shared_ptr<const CompiledTable>> TableCatalog::TableOf(
    const std::string& digest) const {
  const std::shared_ptr<const TableSnapshot> known = snapshot();
  for (const std::vector<ServingTable>* tables :
       {&known->tables, &known->withdrawn}) {
    for (const ServingTable& table : *tables) {
      if (table.record.digest == digest && table.table != nullptr)
        return table.table;
    }
  }
  ASSIGN_OR_RETURN(const ServingTable stored, Get(digest));
  return stored.table;
}

std::optional<ServingTable> TableCatalog::Incumbent(
    const ProfileKey& key) const {
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  std::vector<Choice> fitting = ChoicesOf(*serving, key.kernel);
  std::erase_if(fitting, [&](const Choice& c) {
    return c.key().silicon_key != key.silicon_key;
  });
  if (fitting.empty()) return std::nullopt;
  Prefer(fitting, [&](const Choice& c) {
    return c.key().fingerprint == key.fingerprint;
  });
  Prefer(fitting, [&](const Choice& c) {
    return c.record().IsFor(key.environment_key);
  });
  const Choice& newest = Newest(fitting);
  if (newest.withdrawn) return std::nullopt;
  return *newest.table;
}

namespace {

// Returns ABORTED unless `incumbent` is what a table was verified against, or
// came meanwhile from elsewhere: what nothing here has verified, as a table
// that ships with its kernel, gives way to what was measured here.
absl::Status CheckIncumbent(const std::optional<ServingTable>& incumbent,
                            const std::string& verified_against) {
  const std::string serving = incumbent ? incumbent->record.digest : "";
  if (serving == verified_against) return absl::OkStatus();
  if (incumbent && incumbent->record.unverified) return absl::OkStatus();
  if (serving.empty()) {
    return absl::AbortedError(absl::StrCat(
        "table ", ShortDigest(verified_against),
        ", which it was compared with, serves no longer; its samples count "
        "for the next profile"));
  }
  return absl::AbortedError(absl::StrCat(
      "table ", ShortDigest(serving),
      " was promoted meanwhile for the same device class by another job; its "
      "samples count for the next profile"));
}

}  // namespace

absl::StatusOr<TableRecord> TableCatalog::Promote(
    TableRecord record, const std::string& payload,
    const std::optional<std::string>& verified_against) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(payload));
  std::lock_guard change_lock(change_mutex_);
  if (const auto now = snapshot();
      const PinRecord* const pin =
          now->PinOf(record.key.kernel, record.key.silicon_key)) {
    return absl::AbortedError(PinnedText(*pin));
  }
  if (verified_against) {
    RETURN_IF_ERROR(CheckIncumbent(Incumbent(record.key), *verified_against));
  }
  ASSIGN_OR_RETURN(TableRecord stored,
                   store_->Promote(std::move(record), payload));
  unsaved_.erase(stored.key);
  Publish(WithPromoted(*snapshot(), {stored, std::move(table)}),
          {TableChange::Kind::kPromoted, stored, stored.revision});
  return stored;
}

absl::StatusOr<std::vector<TableRecord>> TableCatalog::History(
    absl::string_view kernel, absl::string_view silicon_key) const {
  return store_->History(kernel, silicon_key);
}

absl::Status TableCatalog::Reject(RejectedTable table,
                                  const std::string& payload) {
  return store_->Reject(std::move(table), payload);
}

absl::StatusOr<std::vector<RejectedTable>> TableCatalog::Rejected(
    absl::string_view kernel, absl::string_view silicon_key) const {
  return store_->ListRejected(kernel, silicon_key);
}

absl::Status TableCatalog::ReadPins() {
  ASSIGN_OR_RETURN(std::vector<PinRecord> pins, store_->ListPins());
  std::lock_guard lock(mutex_);
  auto next = std::make_shared<TableSnapshot>(*snapshot_);
  next->pins = std::move(pins);
  snapshot_ = std::move(next);
  return absl::OkStatus();
}

absl::Status TableCatalog::Withdraw(const ProfileKey& key,
                                    const TableRecord& table,
                                    const std::string& why, int64_t now_us) {
  TableRecord record = table;
  record.key = key;
  record.withdrawn = why;
  record.promoted_at_us = now_us;
  record.by = kDaemonUser;
  std::lock_guard change_lock(change_mutex_);
  for (const auto current = snapshot();
       const ServingTable& t : current->tables) {
    if (t.record.key == key && t.record.digest != table.digest) {
      return absl::OkStatus();
    }
  }
  const absl::StatusOr<TableRecord> stored = store_->Withdraw(record);
  if (stored.ok()) {
    unsaved_.erase(key);
    PublishWithdrawn(*stored);
    return absl::OkStatus();
  }
  // Wrong results are worse than a revision that watchers have seen before.
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  record.revision = serving->revision;
  for (const ServingTable& t : serving->tables) {
    record.epoch = std::max(record.epoch, t.record.epoch + 1);
  }
  unsaved_[key] = record;
  PublishWithdrawn(record);
  return stored.status();
}

void TableCatalog::LeaveOut(const TableRecord& table, const absl::Status& why) {
  std::lock_guard change_lock(change_mutex_);
  TableSnapshot next = *snapshot();
  EraseKey(next, table.key);
  next.left_out.push_back({table.key, WhyLeftOut(table, why)});
  EraseReplacedLeftOut(next);
  Publish(std::move(next), {.kind = TableChange::Kind::kRetired,
                            .table = table,
                            .revision = snapshot()->revision,
                            .by = kDaemonUser,
                            .why = std::string(why.message()),
                            .refused = true});
}

absl::Status TableCatalog::SaveWithdrawals() {
  std::lock_guard change_lock(change_mutex_);
  while (!unsaved_.empty()) {
    ASSIGN_OR_RETURN(const TableRecord stored,
                     store_->Withdraw(unsaved_.begin()->second));
    unsaved_.erase(unsaved_.begin());
    // Again, as it has a revision of its own now.
    PublishWithdrawn(stored);
  }
  return absl::OkStatus();
}

void TableCatalog::PublishWithdrawn(const TableRecord& record) {
  TableSnapshot next = *snapshot();
  const auto table = TableOf(record.digest);
  EraseKey(next, record.key);
  InsertByKey(next.withdrawn, {record, table.ok() ? *table : nullptr});
  Publish(std::move(next), {.kind = TableChange::Kind::kRetired,
                            .table = record,
                            .revision = record.revision,
                            .by = record.by,
                            .why = record.withdrawn});
}

void TableCatalog::Publish(TableSnapshot next, const TableChange& change) {
  next.revision = change.revision;
  auto snapshot = std::make_shared<const TableSnapshot>(std::move(next));
  std::vector<Handle> listeners;
  {
    std::lock_guard lock(mutex_);
    snapshot_ = std::move(snapshot);
    changes_.push_back(change);
    if (changes_.size() > kChangesKept) {
      changes_from_ = changes_.front().revision;
      changes_.pop_front();
    }
    listeners = listeners_.Current();
  }
  for (const Handle& listener : listeners) (*listener)(change);
}

void TableCatalog::Remark(const TableRecord& table,
                          const std::string& stale_reason, bool judged_soon) {
  std::lock_guard change_lock(change_mutex_);
  TableChange change{.kind = TableChange::Kind::kRemarked,
                     .table = table,
                     .stale_reason = stale_reason,
                     .judged_soon = judged_soon};
  std::vector<Handle> listeners;
  {
    std::lock_guard lock(mutex_);
    snapshot_ = std::make_shared<const TableSnapshot>(*snapshot_);
    change.revision = snapshot_->revision;
    listeners = listeners_.Current();
  }
  for (const Handle& listener : listeners) (*listener)(change);
}

TableCatalog::Watch TableCatalog::Subscribe(uint64_t from_revision,
                                            Listener listener) {
  std::lock_guard lock(mutex_);
  Watch watch{.snapshot = snapshot_};
  if (from_revision >= changes_from_ && from_revision <= snapshot_->revision) {
    watch.changes.emplace();
    for (const TableChange& change : changes_) {
      if (change.revision > from_revision) watch.changes->push_back(change);
    }
  }
  watch.handle = listeners_.Add(std::move(listener));
  return watch;
}

}  // namespace wavetune
