#include "server/store/rocksdb_event_store.h"

#include <algorithm>
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

}  // namespace

absl::StatusOr<std::unique_ptr<RocksDbEventStore>> RocksDbEventStore::Create(
    RocksDbDatabase* database) {
  std::unique_ptr<RocksDbEventStore> store(new RocksDbEventStore(database));
  ASSIGN_OR_RETURN(store->last_id_, database->GetNumber(kLastEventName));
  return store;
}

absl::Status RocksDbEventStore::Append(absl::Span<const EventRecord> events) {
  if (events.empty()) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  StoreBatch batch;
  for (const EventRecord& event : events) {
    batch.Put(Family::kKernels, EventKey(event.id), EncodeStoredEvent(event));
  }
  const uint64_t last = events.back().id;
  const uint64_t forget = last > kEventsKept ? last - kEventsKept : 0;
  if (forget > forgotten_to_) {
    batch.DeleteRange(Family::kKernels, EventKey(forgotten_to_ + 1),
                      EventKey(forget + 1));
  }
  database_->PutNumber(kLastEventName, last, batch);
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/false, "store events"));
  last_id_ = last;
  forgotten_to_ = std::max(forgotten_to_, forget);
  return absl::OkStatus();
}

absl::Status RocksDbEventStore::Visit(
    const std::function<bool(const EventRecord&)>& visit) {
  ASSIGN_OR_RETURN(
      const std::vector<EventRecord> events,
      database_->ReadAll<EventRecord>(
          Family::kKernels, kEventPrefix,
          [](absl::string_view key,
             absl::string_view value) -> absl::StatusOr<EventRecord> {
            ASSIGN_OR_RETURN(EventRecord event, DecodeStoredEvent(value));
            if (EventKey(event.id) == key) return event;
            return absl::DataLossError("the entry belongs to another event");
          }));
  for (auto it = events.rbegin(); it != events.rend(); ++it) {
    if (!visit(*it)) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> RocksDbEventStore::LastId() {
  std::lock_guard lock(mutex_);
  return last_id_;
}

}  // namespace wavetune
