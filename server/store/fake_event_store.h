// FakeEventStore: EventStore in memory, which fails on request.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_EVENT_STORE_H_
#define WAVETUNE_SERVER_STORE_FAKE_EVENT_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "server/store/event_store.h"

namespace wavetune {

class FakeEventStore : public EventStore {
 public:
  absl::Status Append(absl::Span<const EventRecord> events) override {
    std::lock_guard lock(mutex_);
    if (!write_error_.ok()) return write_error_;
    events_.insert(events_.end(), events.begin(), events.end());
    while (events_.size() > kEventsKept) events_.pop_front();
    if (!events.empty()) last_id_ = events.back().id;
    return absl::OkStatus();
  }
  absl::Status Visit(
      uint64_t after_id,
      const std::function<bool(const EventRecord&)>& visit) override {
    std::lock_guard lock(mutex_);
    for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
      if (it->id <= after_id || !visit(*it)) break;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<uint64_t> LastId() override {
    std::lock_guard lock(mutex_);
    return last_id_;
  }

  // Writes fail with it from now on; OK: they succeed.
  void FailWrites(const absl::Status& status) {
    std::lock_guard lock(mutex_);
    write_error_ = status;
  }

 private:
  std::mutex mutex_;
  // All guarded by mutex_.
  std::deque<EventRecord> events_;
  uint64_t last_id_ = 0;
  absl::Status write_error_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_EVENT_STORE_H_
