// RocksDbEventStore: EventStore in column family kernels.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_EVENT_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_EVENT_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "server/store/event_store.h"
#include "server/store/rocksdb_database.h"

namespace wavetune {

class RocksDbEventStore : public EventStore {
 public:
  // `database` must outlive the store. Errors: as FromRocksDb.
  static absl::StatusOr<std::unique_ptr<RocksDbEventStore>> Create(
      RocksDbDatabase* database);

  absl::Status Append(absl::Span<const EventRecord> events) override;
  absl::Status Visit(
      uint64_t after_id,
      const std::function<bool(const EventRecord&)>& visit) override;
  absl::StatusOr<uint64_t> LastId() override;

 private:
  explicit RocksDbEventStore(RocksDbDatabase* database) : database_(database) {}

  // Returns the ids of kept events newer than `after_id`, ascending.
  std::vector<uint64_t> IdsAfter(uint64_t after_id);
  // Returns the sound events from `first` to `last`, ascending.
  absl::StatusOr<std::vector<EventRecord>> Read(uint64_t first, uint64_t last);

  RocksDbDatabase* const database_;
  std::mutex mutex_;  // Held while writing.
  // Guarded by mutex_.
  uint64_t last_id_ = 0;
  std::deque<uint64_t> ids_;  // Ids of kept events, ascending.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_EVENT_STORE_H_
