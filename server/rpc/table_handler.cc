#include "server/rpc/table_handler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "formats/api_version.h"
#include "formats/foreign_text.h"
#include "server/rpc/record_proto.h"

namespace wavetune {
namespace {

constexpr int kDefaultHistory = 100;
constexpr int kMaxHistory = 1000;

std::optional<TableSets::Set> FindServingSet(const TableSnapshot& snapshot,
                                             const std::string& digest) {
  std::map<std::pair<std::string, std::string>, std::vector<ServingTable>>
      by_class;
  for (const ServingTable& table : snapshot.tables) {
    const ProfileKey& key = table.record.key;
    by_class[{key.silicon_key, key.environment_key}].push_back(table);
  }
  std::vector<TableSets::Set> sets = {TableSetOf(snapshot.tables)};
  for (const auto& [device_class, tables] : by_class) {
    sets.push_back(TableSetOf(tables));
  }
  for (TableSets::Set& set : sets) {
    if (TableSetDigest(set) == digest) return std::move(set);
  }
  return std::nullopt;
}

}  // namespace

class TableHandler::Watch {
 public:
  Watch(TableHandler* handler, std::weak_ptr<Sink> sink)
      : handler_(handler), sink_(std::move(sink)) {
    handler_->watchers_.fetch_add(1);
  }
  ~Watch() { handler_->watchers_.fetch_sub(1); }

 private:
  friend class TableHandler;

  TableHandler* const handler_;
  const std::weak_ptr<Sink> sink_;
  std::mutex mutex_;  // Held while the first notices are queued.
  TableCatalog::Handle handle_;
};

TableHandler::TableHandler(std::string store_id, TableCatalog* tables,
                           AgentDirectory* devices, KernelCatalog* kernels,
                           DefaultFaults* default_faults)
    : store_id_(std::move(store_id)),
      tables_(tables),
      devices_(devices),
      kernels_(kernels),
      default_faults_(default_faults),
      lookup_(tables, devices, kernels, default_faults),
      staleness_(devices, kernels) {}

absl::Status TableHandler::ListTables(const v1::ListTablesRequest& request,
                                      v1::ListTablesResponse* response) const {
  std::optional<DeviceFacts> device;
  if (!request.device_uuid().empty()) {
    ASSIGN_OR_RETURN(device, devices_->Facts(request.device_uuid()));
  }
  const auto is_asked_for = [&](const ProfileKey& key) {
    return (request.kernel().empty() || key.kernel == request.kernel()) &&
           (!device || key.silicon_key == SiliconKey(*device));
  };
  const std::shared_ptr<const TableSnapshot> snapshot = tables_->snapshot();
  const std::vector<std::string> on_node = staleness_.StaleReasons(*snapshot);
  std::vector<ServingTable> listed;
  for (size_t i = 0; i < on_node.size(); ++i) {
    const ServingTable& table = snapshot->tables[i];
    if (!is_asked_for(table.record.key)) continue;
    *response->add_tables() = InfoOf(
        table.record,
        device ? staleness_.StaleReasonOn(*device, table.record) : on_node[i]);
    listed.push_back(table);
  }
  for (const auto& [record, table] : snapshot->withdrawn) {
    if (is_asked_for(record.key)) {
      *response->add_withdrawn() = TableRecordToProto(record);
    }
  }
  for (const auto& [key, why] : snapshot->left_out) {
    if (is_asked_for(key)) response->add_left_out(why);
  }
  response->set_store_id(store_id_);
  response->set_revision(snapshot->revision);
  response->set_table_set_digest(TableSetDigestOf(listed));
  return absl::OkStatus();
}

absl::Status TableHandler::GetTable(const v1::GetTableRequest& request,
                                    FoundTable* found) const {
  TableMatch match;
  if (!request.digest().empty()) {
    if (!request.kernel().empty() || !request.device_uuid().empty() ||
        !request.fingerprint().empty()) {
      return absl::InvalidArgumentError(
          "give a digest alone, or a kernel with what else is needed");
    }
    ASSIGN_OR_RETURN(match.serving, tables_->Get(request.digest()));
    match.stale_reason = staleness_.StaleReason(match.serving.record);
    match.serving.record.withdrawn = WhyWithdrawn(request.digest());
  } else {
    ASSIGN_OR_RETURN(match,
                     lookup_.Find(request.kernel(), request.device_uuid(),
                                  request.fingerprint()));
  }
  found->info = InfoOf(match.serving.record, match.stale_reason);
  for (const auto& [specialisation, reason] : lookup_.DefaultFaultsOf(
           match.serving.record.key,
           match.serving.table->table().default_configuration)) {
    (*found->info.mutable_default_faults())[specialisation] = Shortened(reason);
  }
  found->table = std::move(match.serving.table);
  return absl::OkStatus();
}

AnswerBasis TableHandler::BasisOfAnswers() const {
  return {.snapshot = tables_->snapshot(),
          .devices = devices_->revision(),
          .kernels = kernels_->Revision(),
          .default_faults =
              default_faults_ == nullptr ? 0 : default_faults_->revision()};
}

bool TableHandler::Serves(const std::string& digest) const {
  const std::shared_ptr<const TableSnapshot> snapshot = tables_->snapshot();
  return std::any_of(
      snapshot->tables.begin(), snapshot->tables.end(),
      [&](const ServingTable& t) { return t.record.digest == digest; });
}

std::string TableHandler::WhyWithdrawn(const std::string& digest) const {
  const std::shared_ptr<const TableSnapshot> snapshot = tables_->snapshot();
  // It may serve for another key still: there it is right.
  for (const ServingTable& table : snapshot->tables) {
    if (table.record.digest == digest) return "";
  }
  for (const auto& [record, table] : snapshot->withdrawn) {
    if (record.digest == digest) return record.withdrawn;
  }
  return "";
}

absl::Status TableHandler::AnnounceTableSet(
    const v1::AnnounceTableSetRequest& request,
    v1::AnnounceTableSetResponse* response) {
  ASSIGN_OR_RETURN(*response->mutable_digest(),
                   sets_.Announce(TableSets::Set(request.tables().begin(),
                                                 request.tables().end())));
  return absl::OkStatus();
}

absl::Status TableHandler::GetTableSet(
    const v1::GetTableSetRequest& request,
    v1::GetTableSetResponse* response) const {
  if (!IsSha256Hex(request.digest())) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", request.digest(),
                     "\" is no digest: 64 lower-case hexadecimal digits"));
  }
  std::optional<TableSets::Set> set = sets_.Find(request.digest());
  if (!set) set = FindServingSet(*tables_->snapshot(), request.digest());
  if (!set) {
    return absl::NotFoundError(absl::StrCat(
        "table set ", request.digest(),
        " neither serves here nor was announced since the daemon's start; "
        "publish it (Client::PublishTableSet) or write it out: "
        "kernel=digest,kernel=digest"));
  }
  response->mutable_tables()->insert(set->begin(), set->end());
  return absl::OkStatus();
}

absl::Status TableHandler::ListTableHistory(
    const v1::ListTableHistoryRequest& request,
    v1::ListTableHistoryResponse* response) const {
  if (request.limit() < 0 || request.limit() > kMaxHistory) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit must be 0 to ", kMaxHistory));
  }
  ASSIGN_OR_RETURN(const std::string silicon_key,
                   lookup_.SiliconFor(request.kernel(), request.device_uuid(),
                                      request.silicon_key()));
  ASSIGN_OR_RETURN(std::vector<TableRecord> history,
                   tables_->History(request.kernel(), silicon_key));
  if (history.empty()) {
    return absl::NotFoundError(absl::StrCat("no table of kernel \"",
                                            request.kernel(),
                                            "\" has served on ", silicon_key));
  }
  const auto limit = static_cast<size_t>(request.limit() > 0 ? request.limit()
                                                             : kDefaultHistory);
  if (history.size() > limit) history.resize(limit);
  for (const TableRecord& record : history) {
    *response->add_tables() = InfoOf(record, /*stale_reason=*/"");
  }
  for (const auto current = tables_->snapshot();
       const ServingTable& table : current->tables) {
    if (table.record.key.kernel == request.kernel() &&
        table.record.key.silicon_key == silicon_key) {
      response->add_serving(table.record.digest);
    }
  }
  return absl::OkStatus();
}

absl::Status TableHandler::ListRejectedTables(
    const v1::ListRejectedTablesRequest& request,
    v1::ListRejectedTablesResponse* response) const {
  ASSIGN_OR_RETURN(const std::string silicon_key,
                   lookup_.SiliconFor(request.kernel(), request.device_uuid(),
                                      request.silicon_key()));
  ASSIGN_OR_RETURN(const std::vector<RejectedTable> rejected,
                   tables_->Rejected(request.kernel(), silicon_key));
  if (rejected.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no table of kernel \"", request.kernel(),
                     "\" was rejected on ", silicon_key));
  }
  for (const RejectedTable& table : rejected) {
    v1::RejectedTable* const entry = response->add_tables();
    *entry->mutable_table() = InfoOf(table.record, /*stale_reason=*/"");
    entry->set_reason(table.reason);
    entry->set_rejected_at_us(table.at_us);
    // Its payload names the dimensions; where it cannot be read the reason has
    // the figures.
    const absl::StatusOr<ServingTable> payload =
        tables_->Get(table.record.digest);
    if (!payload.ok()) continue;
    for (const RejectedPoint& point : table.points) {
      *entry->add_points() =
          RejectedPointToProto(payload->table->table().dimensions, point);
    }
  }
  return absl::OkStatus();
}

v1::TableInfo TableHandler::InfoOf(const TableRecord& table,
                                   const std::string& stale_reason) const {
  v1::TableInfo info = TableRecordToProto(table, stale_reason);
  info.set_store_id(store_id_);
  info.set_pinned(PinText(*tables_->snapshot(), table));
  return info;
}

TableNotice TableHandler::Notice(v1::WatchTablesResponse::Kind kind,
                                 uint64_t revision, const TableRecord* table,
                                 const std::string& stale_reason) const {
  auto notice = std::make_shared<v1::WatchTablesResponse>();
  notice->set_kind(kind);
  notice->set_revision(revision);
  notice->set_store_id(store_id_);
  if (kind == v1::WatchTablesResponse::SYNCED) {
    notice->set_api_version(kApiVersion);
  }
  if (table != nullptr) {
    *notice->mutable_table() = InfoOf(*table, stale_reason);
  }
  EscapeForeignText(notice.get());
  return notice;
}

TableNotice TableHandler::ChangeNotice(const TableChange& change) {
  if (change.kind == TableChange::Kind::kRemarked) return RemarkNotice(change);
  const auto kind = change.kind == TableChange::Kind::kPromoted
                        ? v1::WatchTablesResponse::PROMOTED
                        : v1::WatchTablesResponse::RETIRED;
  std::lock_guard lock(mutex_);
  // Several may have one revision: those that the store could not take.
  if (last_change_ == nullptr || last_change_->revision() != change.revision ||
      last_change_->kind() != kind ||
      last_change_->table().digest() != change.table.digest) {
    last_change_ = Notice(kind, change.revision, &change.table);
  }
  return last_change_;
}

TableNotice TableHandler::RemarkNotice(const TableChange& change) {
  std::lock_guard lock(mutex_);
  if (last_remark_ == nullptr || last_remark_->revision() != change.revision ||
      last_remark_->table().digest() != change.table.digest ||
      last_remark_->table().stale_reason() != change.stale_reason) {
    last_remark_ = Notice(v1::WatchTablesResponse::REMARKED, change.revision,
                          &change.table, change.stale_reason);
  }
  return last_remark_;
}

void TableHandler::AddRemarks(const TableSnapshot& snapshot,
                              TableNotices& notices) const {
  const std::vector<std::string> reasons = staleness_.StaleReasons(snapshot);
  for (size_t i = 0; i < reasons.size(); ++i) {
    notices.push_back(Notice(v1::WatchTablesResponse::REMARKED,
                             snapshot.revision, &snapshot.tables[i].record,
                             reasons[i]));
  }
}

void TableHandler::AddWithdrawals(const TableSnapshot& snapshot,
                                  TableNotices& notices) const {
  for (const auto& [record, table] : snapshot.withdrawn) {
    notices.push_back(
        Notice(v1::WatchTablesResponse::RETIRED, snapshot.revision, &record));
  }
}

TableNotices TableHandler::SnapshotNotices(
    const std::shared_ptr<const TableSnapshot>& snapshot) {
  std::lock_guard lock(mutex_);
  if (noted_snapshot_ != snapshot) {
    noted_.clear();
    const std::vector<std::string> reasons = staleness_.StaleReasons(*snapshot);
    for (size_t i = 0; i < reasons.size(); ++i) {
      noted_.push_back(Notice(v1::WatchTablesResponse::SNAPSHOT,
                              snapshot->revision, &snapshot->tables[i].record,
                              reasons[i]));
    }
    noted_.push_back(
        Notice(v1::WatchTablesResponse::SYNCED, snapshot->revision));
    // Behind SYNCED: whoever hears of these has taken the snapshot before.
    AddWithdrawals(*snapshot, noted_);
    noted_snapshot_ = snapshot;
  }
  return noted_;
}

std::shared_ptr<TableHandler::Watch> TableHandler::WatchTables(
    const v1::WatchTablesRequest& request, std::weak_ptr<Sink> sink) {
  auto watch = std::make_shared<Watch>(this, std::move(sink));
  const std::shared_ptr<Sink> target = watch->sink_.lock();
  if (target == nullptr) return watch;
  // Changes that come while the first notices are queued wait for this lock.
  std::lock_guard lock(watch->mutex_);
  TableCatalog::Watch start = tables_->Subscribe(
      request.from_revision(),
      [this, weak = std::weak_ptr<Watch>(watch)](const TableChange& change) {
        if (const auto live = weak.lock()) OnChange(*live, change);
      });
  watch->handle_ = std::move(start.handle);
  const bool first_time =
      request.store_id().empty() && request.from_revision() == 0;
  const bool same_store = request.store_id() == store_id_;
  TableNotices notices;
  if (same_store && request.from_revision() > 0 && start.changes) {
    for (const TableChange& change : *start.changes) {
      notices.push_back(ChangeNotice(change));
    }
    AddRemarks(*start.snapshot, notices);
    notices.push_back(
        Notice(v1::WatchTablesResponse::SYNCED, start.snapshot->revision));
    // Also what the store could not take: it has no revision to catch up with.
    AddWithdrawals(*start.snapshot, notices);
  } else {
    if (!first_time) {
      notices.push_back(
          Notice(v1::WatchTablesResponse::RESYNC, start.snapshot->revision));
    }
    const TableNotices snapshot = SnapshotNotices(start.snapshot);
    notices.insert(notices.end(), snapshot.begin(), snapshot.end());
  }
  target->Replace(notices);
  return watch;
}

void TableHandler::OnChange(Watch& watch, const TableChange& change) {
  const std::shared_ptr<Sink> sink = watch.sink_.lock();
  if (sink == nullptr) return;
  std::lock_guard lock(watch.mutex_);
  if (sink->Push({ChangeNotice(change)})) return;
  // Too slow to hear of every change: it gets what serves now instead.
  ++slow_watchers_;
  const std::shared_ptr<const TableSnapshot> snapshot = tables_->snapshot();
  TableNotices notices = {
      Notice(v1::WatchTablesResponse::RESYNC, snapshot->revision)};
  const TableNotices all = SnapshotNotices(snapshot);
  notices.insert(notices.end(), all.begin(), all.end());
  sink->Replace(notices);
}

}  // namespace wavetune
