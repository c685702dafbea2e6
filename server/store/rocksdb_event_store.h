// RocksDbEventStore: EventStore in column family kernels.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_EVENT_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_EVENT_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

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
      const std::function<bool(const EventRecord&)>& visit) override;
  absl::StatusOr<uint64_t> LastId() override;

 private:
  explicit RocksDbEventStore(RocksDbDatabase* database) : database_(database) {}

  RocksDbDatabase* const database_;
  std::mutex mutex_;           // Held while writing.
  uint64_t last_id_ = 0;       // Guarded by mutex_.
  uint64_t forgotten_to_ = 0;  // All up to it are forgotten. As last_id_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_EVENT_STORE_H_
