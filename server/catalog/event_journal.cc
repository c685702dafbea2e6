#include "server/catalog/event_journal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// Events that are looked at for repeats; more are told without.
constexpr size_t kMostCompared = 1024;

// Of kinds that end each other the first.
EventKind Beginning(EventKind kind) {
  switch (kind) {
    case EventKind::kDeviceDetached:
      return EventKind::kDeviceAttached;
    case EventKind::kTableCurrent:
      return EventKind::kTableStale;
    case EventKind::kUnpinned:
      return EventKind::kPinned;
    case EventKind::kStoreUsable:
      return EventKind::kStoreProblem;
    default:
      return kind;
  }
}

void AppendUntold(EventRecord& event, int64_t untold) {
  absl::StrAppend(&event.text, " (", untold, untold == 1 ? " time" : " times",
                  " more since it was last told)");
}

}  // namespace

bool EventFilter::Wants(const EventRecord& event) const {
  return (!kind || event.kind == *kind) &&
         (kernel.empty() || event.kernel == kernel) &&
         (device_uuid.empty() || event.device_uuid == device_uuid) &&
         event.at_us >= since_us && event.id > after_id;
}

EventJournal::EventJournal(EventStore* store, Clock* clock, Later later,
                           std::function<void(const EventRecord&)> log)
    : store_(store),
      clock_(clock),
      later_(std::move(later)),
      log_(std::move(log)) {}

absl::Status EventJournal::Load() {
  if (store_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint64_t last, store_->LastId());
  std::lock_guard lock(mutex_);
  last_id_ = std::max(last_id_, last) + kSkippedIds;
  return absl::OkStatus();
}

EventJournal::Topic EventJournal::TopicOf(const EventRecord& event) {
  return {
      Beginning(event.kind), event.kernel, event.device_uuid, event.silicon_key,
      event.digest,          event.job_id, event.by};
}

bool EventJournal::IsPausing(const Told& told, EventKind kind, int64_t now_us) {
  const auto at = told.at_us.find(kind);
  // A clock that was set back ends the pause.
  return at != told.at_us.end() && now_us >= at->second &&
         now_us - at->second < kRepeatUs;
}

bool EventJournal::IsTold(EventRecord& event) {
  Topic topic = TopicOf(event);
  if (told_.size() >= kMostCompared && !told_.contains(topic)) {
    TellHeld(/*all=*/true);
    told_.clear();
  }
  Told& told = told_[std::move(topic)];
  if (IsPausing(told, event.kind, event.at_us)) {
    ++told.untold;
    told.held = event;
    return false;
  }
  if (told.untold > 0) AppendUntold(event, told.untold);
  told.untold = 0;
  told.held.reset();  // This one is newer.
  told.at_us[event.kind] = event.at_us;
  return true;
}

void EventJournal::Record(EventRecord event) {
  std::lock_guard order(order_mutex_);
  event.at_us = clock_->NowUs();
  event.text = ShortenedText(event.text, kMaxTextBytes);
  if (IsTold(event)) Publish(std::move(event));
}

void EventJournal::TellHeldBack(bool all) {
  std::lock_guard order(order_mutex_);
  TellHeld(all);
}

void EventJournal::TellHeld(bool all) {
  const int64_t now_us = clock_->NowUs();
  std::vector<EventRecord> due;
  for (auto& [topic, told] : told_) {
    if (!told.held || (!all && IsPausing(told, told.held->kind, now_us)))
      continue;
    EventRecord event = *std::exchange(told.held, std::nullopt);
    // It is told itself.
    if (told.untold > 1) AppendUntold(event, told.untold - 1);
    told.untold = 0;
    told.at_us[event.kind] = now_us;
    due.push_back(std::move(event));
  }
  // At the time when each happened, in the order of these.
  std::stable_sort(due.begin(), due.end(),
                   [](const EventRecord& a, const EventRecord& b) {
                     return a.at_us < b.at_us;
                   });
  for (EventRecord& event : due) Publish(std::move(event));
}

void EventJournal::Publish(EventRecord event) {
  std::vector<Handle> listeners;
  bool save = false;
  {
    std::lock_guard lock(mutex_);
    event.id = ++last_id_;
    unsaved_.push_back(event);
    if (unsaved_.size() > kMostUnsaved) unsaved_.pop_front();
    save = store_ != nullptr && !std::exchange(save_pending_, true);
    listeners = listeners_.Current();
  }
  log_(event);
  for (const Handle& listener : listeners) (*listener)(event);
  // What fails is tried again with the next event, and by whoever calls Save.
  if (save) later_([this] { Save().IgnoreError(); });
}

absl::Status EventJournal::Save() {
  if (store_ == nullptr) return absl::OkStatus();
  std::lock_guard one(save_mutex_);
  std::vector<EventRecord> events;
  {
    std::lock_guard lock(mutex_);
    save_pending_ = false;
    events.assign(unsaved_.begin(), unsaved_.end());
  }
  if (events.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(store_->Append(events));
  std::lock_guard lock(mutex_);
  while (!events.empty() && !unsaved_.empty() &&
         unsaved_.front().id <= events.back().id) {
    unsaved_.pop_front();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EventRecord>> EventJournal::List(
    const EventFilter& filter, size_t most) {
  std::vector<EventRecord> events;
  if (most == 0) return events;
  std::lock_guard one(save_mutex_);  // Nothing moves to the store meanwhile.
  const auto take = [&](const EventRecord& event) {
    if (filter.Wants(event)) events.push_back(event);
    return events.size() < most && event.id > filter.after_id;
  };
  {
    std::lock_guard lock(mutex_);
    for (auto it = unsaved_.rbegin(); it != unsaved_.rend(); ++it) {
      if (!take(*it)) return events;
    }
  }
  if (store_ != nullptr) RETURN_IF_ERROR(store_->Visit(filter.after_id, take));
  return events;
}

absl::StatusOr<EventJournal::Watch> EventJournal::Subscribe(uint64_t after_id,
                                                            size_t most,
                                                            Listener listener) {
  Watch watch;
  uint64_t heard_from = 0;
  {
    std::lock_guard lock(mutex_);
    watch.handle = listeners_.Add(std::move(listener));
    heard_from = last_id_;
  }
  ASSIGN_OR_RETURN(watch.missed, List({.after_id = after_id}, most));
  // The listener hears of what came since itself.
  std::erase_if(watch.missed, [&](const EventRecord& event) {
    return event.id > heard_from;
  });
  std::reverse(watch.missed.begin(), watch.missed.end());
  return watch;
}

}  // namespace wavetune
