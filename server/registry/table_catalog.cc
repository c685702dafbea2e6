#include "server/registry/table_catalog.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/status_macros.h"
#include "model/table/digest.h"

namespace wavetune {
namespace {

std::string Describe(const TableRecord& record) {
  return absl::StrCat("fingerprint ", record.key.fingerprint, ", ",
                      record.key.silicon_key, ", ", record.key.environment_key,
                      " (", record.device_label, "), digest ", record.digest);
}

std::string DescribeAll(const std::vector<const ServingTable*>& tables) {
  return absl::StrJoin(tables, "\n  ",
                       [](std::string* out, const ServingTable* table) {
                         absl::StrAppend(out, Describe(table->record));
                       });
}

absl::Status NothingFound(const TableQuery& query,
                          const TableSnapshot& snapshot) {
  std::vector<const ServingTable*> same_kernel;
  std::set<std::string> kernels;
  for (const ServingTable& table : snapshot.tables) {
    kernels.insert(table.record.key.kernel);
    if (table.record.key.kernel == query.kernel) same_kernel.push_back(&table);
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

// Keeps those for which `keep` holds, unless that would leave none.
template <typename Predicate>
void Prefer(std::vector<const ServingTable*>& tables, Predicate keep) {
  if (std::none_of(tables.begin(), tables.end(), keep)) return;
  std::erase_if(tables, [&](const ServingTable* t) { return !keep(t); });
}

const ServingTable* Newest(const std::vector<const ServingTable*>& tables) {
  return *std::max_element(tables.begin(), tables.end(),
                           [](const ServingTable* a, const ServingTable* b) {
                             return a->record.epoch < b->record.epoch;
                           });
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
  snapshot->revision = store_->Revision();
  for (const TableRecord& record : records) {
    absl::StatusOr<ServingTable> table = Get(record.digest);
    if (!table.ok()) {
      warn_(absl::StrCat("table of kernel ", record.key.kernel,
                         " left out: ", table.status().message(),
                         ". Profile it again: wavetune reprofile --kernel ",
                         record.key.kernel));
      continue;
    }
    snapshot->tables.push_back({record, table->table});
  }
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
  if (!query.fingerprint.empty() &&
      query.fingerprint.size() < kMinFingerprintPrefix) {
    return absl::InvalidArgumentError(
        absl::StrCat("fingerprint prefix \"", query.fingerprint,
                     "\" is too short: give at least ", kMinFingerprintPrefix,
                     " characters"));
  }
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  const std::string silicon = query.device ? SiliconKey(*query.device) : "";
  const std::string environment =
      query.device ? EnvironmentKey(*query.device) : "";
  std::vector<const ServingTable*> fitting;
  for (const ServingTable& table : serving->tables) {
    const ProfileKey& key = table.record.key;
    if (key.kernel != query.kernel) continue;
    if (!absl::StartsWith(key.fingerprint, query.fingerprint)) continue;
    if (query.device && key.silicon_key != silicon) continue;
    fitting.push_back(&table);
  }
  if (fitting.empty()) return NothingFound(query, *serving);
  if (fitting.size() > 1 && query.fingerprint.empty() &&
      query.current_fingerprint) {
    const std::string current = query.current_fingerprint();
    Prefer(fitting, [&](const ServingTable* t) {
      return t->record.key.fingerprint == current;
    });
  }
  if (query.device) {
    Prefer(fitting, [&](const ServingTable* t) {
      return t->record.key.environment_key == environment;
    });
  }
  std::set<std::tuple<std::string, std::string>> distinct;
  for (const ServingTable* table : fitting) {
    // Who names no fingerprint wants the kernel, whatever its version.
    distinct.emplace(
        query.fingerprint.empty() ? "" : table->record.key.fingerprint,
        table->record.key.silicon_key);
  }
  if (distinct.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "several tables of kernel \"", query.kernel,
        "\" fit: give a device UUID, a fingerprint or a digest. Choices:\n  ",
        DescribeAll(fitting)));
  }
  // What is left is of one silicon: the newest is the nearest.
  TableMatch match{.serving = *Newest(fitting)};
  match.stale =
      query.device && match.serving.record.key.environment_key != environment;
  return match;
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

std::optional<ServingTable> TableCatalog::Incumbent(
    const ProfileKey& key) const {
  const std::shared_ptr<const TableSnapshot> serving = snapshot();
  std::vector<const ServingTable*> fitting;
  for (const ServingTable& table : serving->tables) {
    if (table.record.key.kernel == key.kernel &&
        table.record.key.silicon_key == key.silicon_key) {
      fitting.push_back(&table);
    }
  }
  if (fitting.empty()) return std::nullopt;
  Prefer(fitting, [&](const ServingTable* t) {
    return t->record.key.fingerprint == key.fingerprint;
  });
  Prefer(fitting, [&](const ServingTable* t) {
    return t->record.key.environment_key == key.environment_key;
  });
  return *Newest(fitting);
}

absl::StatusOr<TableRecord> TableCatalog::Promote(TableRecord record,
                                                  const std::string& payload) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(payload));
  std::lock_guard change_lock(change_mutex_);
  ASSIGN_OR_RETURN(TableRecord stored,
                   store_->Promote(std::move(record), payload));
  std::vector<ServingTable> tables = snapshot()->tables;
  std::erase_if(tables, [&](const ServingTable& t) {
    return t.record.key == stored.key;
  });
  const auto place =
      std::lower_bound(tables.begin(), tables.end(), stored.key,
                       [](const ServingTable& t, const ProfileKey& k) {
                         return t.record.key < k;
                       });
  tables.insert(place, {stored, std::move(table)});
  Publish(std::move(tables),
          {TableChange::Kind::kPromoted, stored, stored.revision});
  return stored;
}

absl::Status TableCatalog::Retire(const ProfileKey& key) {
  std::lock_guard change_lock(change_mutex_);
  ASSIGN_OR_RETURN(const uint64_t revision, store_->Retire(key));
  std::vector<ServingTable> tables = snapshot()->tables;
  const auto it =
      std::find_if(tables.begin(), tables.end(),
                   [&](const ServingTable& t) { return t.record.key == key; });
  TableChange change{.kind = TableChange::Kind::kRetired, .revision = revision};
  change.table.key = key;
  if (it != tables.end()) {  // Absent where it was left out as corrupt.
    change.table = it->record;
    tables.erase(it);
  }
  Publish(std::move(tables), std::move(change));
  return absl::OkStatus();
}

void TableCatalog::Publish(std::vector<ServingTable> tables,
                           TableChange change) {
  auto snapshot = std::make_shared<TableSnapshot>();
  snapshot->tables = std::move(tables);
  snapshot->revision = change.revision;
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

std::map<std::string, std::string> TableSetOf(
    const std::vector<ServingTable>& tables) {
  std::map<std::string, const TableRecord*> newest;
  for (const ServingTable& table : tables) {
    const TableRecord*& entry = newest[table.record.key.kernel];
    if (entry == nullptr || entry->epoch < table.record.epoch) {
      entry = &table.record;
    }
  }
  std::map<std::string, std::string> digests;
  for (const auto& [kernel, record] : newest) digests[kernel] = record->digest;
  return digests;
}

std::string TableSetDigestOf(const std::vector<ServingTable>& tables) {
  return TableSetDigest(TableSetOf(tables));
}

}  // namespace wavetune
