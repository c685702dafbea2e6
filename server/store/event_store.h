// EventStore: what happened on the node, the newest of it.
//
// Contract suite: server/store/event_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_EVENT_STORE_H_
#define WAVETUNE_SERVER_STORE_EVENT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace wavetune {

// What happened, with the numbers of v1::Event::Kind, by which it is stored.
enum class EventKind {
  kUnknown,  // From a later daemon.
  kDeviceAttached,
  kDeviceDetached,
  kDriverChanged,  // Another driver, runtime or power limit than before.
  kTableStale,
  kTableCurrent,
  kPromoted,
  kRolledBack,
  kRefused,  // A profile's table was not promoted.
  kWithdrawn,
  kRetired,
  kPinned,
  kUnpinned,
  kJobStarted,
  kJobEnded,
  kStoreProblem,
  kStoreUsable,
  kDriftProbeResult,  // A drift probe's verdict, and the next step.
  kCarriedOver,
  kImported,
  kSlowDevice,  // It deviates from others of its class.
  kHotDevice,   // It throttles because it is hot.
  kDeviceUsable,
  kConfigReloaded,
  kUnratedDevice,       // A job could not compare it with its class.
  kDeviceLost,          // It cannot be used.
  kRolloutHalted,       // The fleet's, in a class of this node's devices.
  kSpotCheckDisagrees,  // A table does not hold on a device of this node.
  kEnd,                 // None: one more than the last.
};

struct EventRecord {
  uint64_t id = 0;    // Increasing, from 1.
  int64_t at_us = 0;  // Since the Unix epoch.
  EventKind kind = EventKind::kUnknown;
  bool warning = false;  // Somebody should look.
  // What it is about; empty or 0 where it is about none.
  std::string kernel;
  std::string device_uuid;
  std::string silicon_key;
  std::string digest;
  uint64_t job_id = 0;
  std::string by;    // Who did it: a user's number, or kDaemonUser.
  std::string text;  // One line for people.

  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

class EventStore {
 public:
  // The newest that are kept.
  static constexpr size_t kEventsKept = 20000;

  virtual ~EventStore() = default;

  // Stores events with ascending ids, above all that are stored, and forgets
  // the oldest beyond kEventsKept. Not synced: a power cut may lose the last
  // ones. Errors: as SampleStore::Append; then nothing changed.
  virtual absl::Status Append(absl::Span<const EventRecord> events) = 0;

  // Calls `visit` for each sound event that is newer than `after_id`, newest
  // first, until it returns false. Cost: reads a few hundred more than it
  // visits.
  virtual absl::Status Visit(
      uint64_t after_id,
      const std::function<bool(const EventRecord&)>& visit) = 0;

  // Returns the id of the newest event ever stored; 0 where there is none.
  virtual absl::StatusOr<uint64_t> LastId() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_EVENT_STORE_H_
