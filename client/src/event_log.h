// EventLog: the last things that happened to a client's tables.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_SRC_EVENT_LOG_H_
#define WAVETUNE_CLIENT_SRC_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/src/fork_guard.h"
#include "wavetune/client_event.h"

namespace wavetune {

class EventLog {
 public:
  static constexpr size_t kKept = 64;

  // Adds an event with the next number and the time of now; the oldest one may
  // go. Cannot fail.
  void Add(ClientEvent::Kind kind, const std::string& kernel,
           const std::string& digest,
           const absl::Status& reason = absl::OkStatus());

  // Oldest first.
  std::vector<ClientEvent> events() const;

  // The reason of the last event that has one; OK where there was none.
  absl::Status last_problem() const;

 private:
  mutable ForkSafeMutex mutex_;
  // Guarded by mutex_.
  uint64_t added_ = 0;
  std::deque<ClientEvent> events_;
  absl::Status last_problem_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_EVENT_LOG_H_
