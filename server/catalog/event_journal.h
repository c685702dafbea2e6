// EventJournal: what happens on the node, told at once and kept.
//
// Whoever records an event waits for no disk: events are stored later, and wait
// in memory while nothing can be stored. Events are news, not state: the first
// of several equal ones within seconds is told at once. The last of the others
// follows after the pause, with how many there were. So the last event of a
// topic is true within a pause.
//
//   EventJournal journal(&store, &clock, later, log);
//   RETURN_IF_ERROR(journal.Load());
//   journal.Record({.kind = EventKind::kPromoted, .text = "..."});
//
// Thread safety: thread-safe. Listeners must not call the journal.
#ifndef WAVETUNE_SERVER_CATALOG_EVENT_JOURNAL_H_
#define WAVETUNE_SERVER_CATALOG_EVENT_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/jobs/listeners.h"
#include "server/store/event_store.h"

namespace wavetune {

// Which events are wanted; an empty field wants all.
struct EventFilter {
  std::optional<EventKind> kind;
  std::string kernel;
  std::string device_uuid;
  int64_t since_us = 0;   // At or after it.
  uint64_t after_id = 0;  // Newer than it.

  // Cannot fail.
  bool Wants(const EventRecord& event) const;
};

class EventJournal {
 public:
  using Listener = Listeners<EventRecord>::Listener;
  using Handle = Listeners<EventRecord>::Handle;
  // Does something soon, on a thread that may wait for a disk.
  using Later = std::function<void(std::function<void()>)>;

  // Events that wait while nothing can be stored: older ones are dropped.
  static constexpr size_t kMostUnsaved = 1024;
  // The same event is told again after this.
  static constexpr int64_t kRepeatUs = 10'000'000;
  // Ids that Load leaves out: more than may have been told and never stored by
  // a process that was killed.
  static constexpr uint64_t kSkippedIds = 1'000'000;
  // Longest text of an event: longer ones are cut.
  static constexpr size_t kMaxTextBytes = 1024;

  // Where a watch starts.
  struct Watch {
    std::vector<EventRecord> missed;  // Oldest first.
    Handle handle;                    // Drop to end.
  };

  // `store` and `clock` outlive the journal; without a store (nullptr) the last
  // kMostUnsaved events are kept in memory. `log` gets every event that is
  // told.
  EventJournal(EventStore* store, Clock* clock, Later later,
               std::function<void(const EventRecord&)> log);

  // Numbers go on from the stored ones, with a gap of kSkippedIds. Errors: the
  // store's.
  absl::Status Load();

  // Sets id and time, tells listeners, and has the event stored later.
  void Record(EventRecord event);

  // Tells repeats that were held back and whose pause is over; with `all`
  // whatever was held back. Call it every second or so. Cost: walks the last
  // topics.
  void TellHeldBack(bool all = false);

  // Stores what waits. Errors: the store's; it then waits on.
  absl::Status Save();

  // Returns at most `most` of the wanted events, newest first. Reads the store.
  // Errors: the store's.
  absl::StatusOr<std::vector<EventRecord>> List(const EventFilter& filter,
                                                size_t most);

  // Subscribes to events from now on, of all kinds; `missed` are at most `most`
  // of the newest events after `after_id`. Reads the store. Errors: the
  // store's.
  absl::StatusOr<Watch> Subscribe(uint64_t after_id, size_t most,
                                  Listener listener);

 private:
  // What events are about: of kinds that end each other (stale and current)
  // the first, then kernel, device, silicon, digest, job and user.
  using Topic = std::tuple<EventKind, std::string, std::string, std::string,
                           std::string, uint64_t, std::string>;
  struct Told {
    std::map<EventKind, int64_t> at_us;  // When a kind was last told.
    std::optional<EventRecord> held;     // The last that was not told since.
    int64_t untold = 0;                  // How many were not.
  };
  static Topic TopicOf(const EventRecord& event);
  static bool IsPausing(const Told& told, EventKind kind, int64_t now_us);
  // Whether it is told now; then its text counts the untold ones, else it is
  // held back. Holds order_mutex_.
  bool IsTold(EventRecord& event);
  // Numbers it, tells listeners, has it stored. Holds order_mutex_.
  void Publish(EventRecord event);
  // TellHeldBack. Holds order_mutex_.
  void TellHeld(bool all);

  EventStore* const store_;
  Clock* const clock_;
  const Later later_;
  const std::function<void(const EventRecord&)> log_;
  // Held while an event is told, so that all hear of them in one order; taken
  // before mutex_.
  std::mutex order_mutex_;
  std::map<Topic, Told> told_;  // Guarded by order_mutex_.
  std::mutex save_mutex_;       // One thread at a time stores.
  std::mutex mutex_;
  // Guarded by mutex_.
  uint64_t last_id_ = 0;
  std::deque<EventRecord> unsaved_;
  bool save_pending_ = false;
  Listeners<EventRecord> listeners_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_EVENT_JOURNAL_H_
