#include "server/rpc/event_handler.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/status_macros.h"
#include "formats/foreign_text.h"

namespace wavetune {
namespace {

v1::Event EventToProto(const EventRecord& event) {
  v1::Event proto;
  GIVE_FIELDS(event, proto, id, at_us, warning, kernel, device_uuid,
              silicon_key, digest, job_id, by, text);
  proto.set_kind(static_cast<v1::Event::Kind>(event.kind));
  return proto;
}

EventNotice NoticeOf(const EventRecord& event) {
  auto notice = std::make_shared<v1::WatchEventsResponse>();
  *notice->mutable_event() = EventToProto(event);
  EscapeForeignText(notice.get());
  return notice;
}

}  // namespace

class EventHandler::Watch {
 public:
  Watch(std::weak_ptr<Sink> sink, std::shared_ptr<std::atomic<int>> open)
      : sink_(std::move(sink)), open_(std::move(open)) {}
  ~Watch() { --*open_; }

 private:
  friend class EventHandler;

  // Never waits for the store: an event before Begin is kept for it.
  void Take(const EventRecord& event) {
    std::lock_guard lock(mutex_);
    if (begun_) {
      Push({NoticeOf(event)});
    } else {
      early_.push_back(NoticeOf(event));
    }
  }
  void Begin(std::vector<EventNotice> first) {
    std::lock_guard lock(mutex_);
    first.insert(first.end(), early_.begin(), early_.end());
    early_.clear();
    begun_ = true;
    Push(first);
  }
  void Push(const std::vector<EventNotice>& events) {
    if (const auto target = sink_.lock()) target->Push(events);
  }

  const std::weak_ptr<Sink> sink_;
  const std::shared_ptr<std::atomic<int>> open_;
  std::mutex mutex_;
  // Guarded by mutex_.
  bool begun_ = false;
  std::vector<EventNotice> early_;
  EventJournal::Handle handle_;
};

absl::Status EventHandler::ListEvents(const v1::ListEventsRequest& request,
                                      v1::ListEventsResponse* response) const {
  if (request.limit() < 0 || request.limit() > kMaxEvents) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit must be 0 to ", kMaxEvents));
  }
  if (!v1::Event::Kind_IsValid(request.kind())) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no kind of events ", request.kind()));
  }
  EventFilter filter{.kernel = request.kernel(),
                     .device_uuid = request.device_uuid(),
                     .since_us = request.since_us(),
                     .after_id = request.after_id()};
  if (request.kind() != v1::Event::KIND_UNSPECIFIED) {
    filter.kind = static_cast<EventKind>(request.kind());
  }
  ASSIGN_OR_RETURN(
      const std::vector<EventRecord> events,
      journal_->List(
          filter, static_cast<size_t>(request.limit() > 0 ? request.limit()
                                                          : kDefaultEvents)));
  for (const EventRecord& event : events) {
    *response->add_events() = EventToProto(event);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<EventHandler::Watch>> EventHandler::WatchEvents(
    const v1::WatchEventsRequest& request, std::weak_ptr<Sink> sink) const {
  const bool too_many = ++*open_watches_ > kMaxWatches;
  auto watch = std::make_shared<Watch>(std::move(sink), open_watches_);
  if (too_many) {
    return absl::ResourceExhaustedError(
        absl::StrCat("events are followed ", kMaxWatches,
                     " times already on this daemon: end one, or list them"));
  }
  const auto push =
      [weak = std::weak_ptr<Watch>(watch)](const EventRecord& event) {
        if (const auto live = weak.lock()) live->Take(event);
      };
  const size_t most = request.after_id() > 0 ? kMaxEvents : 0;
  ASSIGN_OR_RETURN(EventJournal::Watch start,
                   journal_->Subscribe(request.after_id(), most, push));
  watch->handle_ = std::move(start.handle);
  std::vector<EventNotice> missed;
  for (const EventRecord& event : start.missed) {
    missed.push_back(NoticeOf(event));
  }
  missed.push_back(std::make_shared<const v1::WatchEventsResponse>());
  watch->Begin(std::move(missed));
  return watch;
}

}  // namespace wavetune
