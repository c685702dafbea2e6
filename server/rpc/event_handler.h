// EventHandler: what StatusService does with events. Knows no gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_EVENT_HANDLER_H_
#define WAVETUNE_SERVER_RPC_EVENT_HANDLER_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "server/catalog/event_journal.h"

namespace wavetune {

using EventNotice = std::shared_ptr<const v1::WatchEventsResponse>;

class EventHandler {
 public:
  static constexpr int kDefaultEvents = 100;
  static constexpr int kMaxEvents = 1000;
  // Each may have a queue of notices of its own.
  static constexpr int kMaxWatches = 64;

  // Where a watch's events go. Calls come one at a time and must not block.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void Push(const std::vector<EventNotice>& events) = 0;
  };
  // A running watch; drop it to end.
  class Watch;

  // `journal` outlives the handler.
  explicit EventHandler(EventJournal* journal) : journal_(journal) {}

  // Reads the store. Errors: INVALID_ARGUMENT for a limit or kind that is none;
  // the store's.
  absl::Status ListEvents(const v1::ListEventsRequest& request,
                          v1::ListEventsResponse* response) const;

  // Starts a watch: the missed events, a message without an event, then every
  // event, in order and once. Reads the store. `sink` is held weakly. Errors:
  // RESOURCE_EXHAUSTED where kMaxWatches run; the store's.
  absl::StatusOr<std::shared_ptr<Watch>> WatchEvents(
      const v1::WatchEventsRequest& request, std::weak_ptr<Sink> sink) const;

 private:
  EventJournal* const journal_;
  const std::shared_ptr<std::atomic<int>> open_watches_ =
      std::make_shared<std::atomic<int>>(0);
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_EVENT_HANDLER_H_
