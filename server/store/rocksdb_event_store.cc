#include "server/store/rocksdb_event_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_event.h"

namespace wavetune {
namespace {

constexpr absl::string_view kLastEventName = "last_event_id";
// Events that are read at once.
constexpr size_t kEventsAtOnce = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<RocksDbEventStore>> RocksDbEventStore::Create(
    RocksDbDatabase* database) {
  std::unique_ptr<RocksDbEventStore> store(new RocksDbEventStore(database));
  ASSIGN_OR_RETURN(store->last_id_, database->GetNumber(kLastEventName));
  RETURN_IF_ERROR(database->Scan(
      Family::kKernels, kEventPrefix,
      [&store](absl::string_view key, absl::string_view) {
        if (const std::optional<uint64_t> id = TrailingNumber(key))
          store->ids_.push_back(*id);
        return true;
      }));
  return store;
}

absl::Status RocksDbEventStore::Append(absl::Span<const EventRecord> events) {
  if (events.empty()) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  StoreBatch batch;
  for (const EventRecord& event : events) {
    batch.Put(Family::kKernels, EventKey(event.id), EncodeStoredEvent(event));
  }
  std::deque<uint64_t> ids = ids_;
  for (const EventRecord& event : events) ids.push_back(event.id);
  if (ids.size() > kEventsKept) {
    const auto kept = ids.end() - kEventsKept;
    batch.DeleteRange(Family::kKernels, EventKey(ids.front()), EventKey(*kept));
    ids.erase(ids.begin(), kept);
  }
  database_->PutNumber(kLastEventName, events.back().id, batch);
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/false, "store events"));
  last_id_ = events.back().id;
  ids_ = std::move(ids);
  return absl::OkStatus();
}

std::vector<uint64_t> RocksDbEventStore::IdsAfter(uint64_t after_id) {
  std::lock_guard lock(mutex_);
  return {std::upper_bound(ids_.begin(), ids_.end(), after_id), ids_.end()};
}

absl::StatusOr<std::vector<EventRecord>> RocksDbEventStore::Read(
    uint64_t first, uint64_t last) {
  std::vector<EventRecord> events;
  const auto take = [&](absl::string_view key, absl::string_view value) {
    if (key > absl::string_view(EventKey(last))) return false;
    absl::StatusOr<EventRecord> event = DecodeStoredEvent(value);
    if (event.ok() && EventKey(event->id) != key) {
      event = absl::DataLossError("the entry belongs to another event");
    }
    if (event.ok()) {
      events.push_back(*std::move(event));
    } else {
      database_->ReportCorrupt(Family::kKernels, key, event.status());
    }
    return true;
  };
  RETURN_IF_ERROR(database_->Scan(Family::kKernels, kEventPrefix, take,
                                  /*resume=*/nullptr, EventKey(first)));
  return events;
}

absl::Status RocksDbEventStore::Visit(
    uint64_t after_id, const std::function<bool(const EventRecord&)>& visit) {
  const std::vector<uint64_t> ids = IdsAfter(after_id);
  for (size_t end = ids.size(); end > 0;) {
    const size_t begin = end > kEventsAtOnce ? end - kEventsAtOnce : 0;
    ASSIGN_OR_RETURN(const std::vector<EventRecord> events,
                     Read(ids[begin], ids[end - 1]));
    for (auto it = events.rbegin(); it != events.rend(); ++it) {
      if (!visit(*it)) return absl::OkStatus();
    }
    end = begin;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> RocksDbEventStore::LastId() {
  std::lock_guard lock(mutex_);
  return last_id_;
}

}  // namespace wavetune
