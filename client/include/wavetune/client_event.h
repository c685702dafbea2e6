// ClientEvent: what happened to a client's tables, for logs and for people.
#ifndef WAVETUNE_CLIENT_EVENT_H_
#define WAVETUNE_CLIENT_EVENT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

struct ClientEvent {
  enum class Kind {
    kStaged,        // A new table waits to take over.
    kActivated,     // A table decides from now on.
    kWithdrawn,     // A staged table was retired or replaced by a newer one. Or
                    // the table that decides was shown to compute wrong
                    // results: `reason` says so, and the default decides.
    kRefused,       // A table was not taken; `reason` says why. The current one
                    // stays. Without a digest: the cache is not used.
    kConnected,     // The watch hears of new tables.
    kDisconnected,  // It does not; `reason` says why. It tries again.
    kStale,         // The table that decides is stale; `reason` says what
                    // differs. Once it is not any more: kActivated.
    kCacheProblem,  // The cache cannot be used; `reason` says why. Once for
                    // each client: it goes on without.
  };

  // Counts from 1 in the order of events. A gap between two looks says that
  // events between them are no longer kept.
  uint64_t number = 0;
  Kind kind = Kind::kStaged;
  int64_t time_us = 0;  // Since the Unix epoch.
  std::string kernel;   // Empty for what concerns the connection.
  std::string digest;   // Hex; may be empty.
  absl::Status reason;  // OK but for kRefused, kDisconnected, kStale,
                        // kCacheProblem, and kWithdrawn of a table that
                        // decided.
};

// Returns the word that people read: "STAGED", ... Cannot fail.
absl::string_view ToString(ClientEvent::Kind kind);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_EVENT_H_
