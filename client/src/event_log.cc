#include "client/src/event_log.h"

#include "base/clock.h"

namespace wavetune {

absl::string_view ToString(ClientEvent::Kind kind) {
  switch (kind) {
    case ClientEvent::Kind::kStaged:
      return "STAGED";
    case ClientEvent::Kind::kActivated:
      return "ACTIVATED";
    case ClientEvent::Kind::kWithdrawn:
      return "WITHDRAWN";
    case ClientEvent::Kind::kRefused:
      return "REFUSED";
    case ClientEvent::Kind::kConnected:
      return "CONNECTED";
    case ClientEvent::Kind::kDisconnected:
      return "DISCONNECTED";
    case ClientEvent::Kind::kStale:
      return "STALE";
    case ClientEvent::Kind::kCacheProblem:
      return "CACHE_PROBLEM";
  }
  return "UNKNOWN";
}

void EventLog::Add(ClientEvent::Kind kind, const std::string& kernel,
                   const std::string& digest, const absl::Status& reason) {
  ClientEvent event{.kind = kind,
                    .time_us = SystemClock().NowUs(),
                    .kernel = kernel,
                    .digest = digest,
                    .reason = reason};
  std::lock_guard lock(mutex_);
  event.number = ++added_;
  if (!reason.ok()) last_problem_ = reason;
  events_.push_back(std::move(event));
  if (events_.size() > kKept) events_.pop_front();
}

std::vector<ClientEvent> EventLog::events() const {
  std::lock_guard lock(mutex_);
  return {events_.begin(), events_.end()};
}

absl::Status EventLog::last_problem() const {
  std::lock_guard lock(mutex_);
  return last_problem_;
}

}  // namespace wavetune
