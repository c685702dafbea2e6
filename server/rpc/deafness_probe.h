// DeafnessProbe: tells from looks at a listener whether it still takes
// connections.
//
// Why: a thread that hangs notices nothing itself, and a daemon that nobody can
// connect to looks alive: its streams go on. So another thread looks. Looks are
// counted, not seconds: while a machine sleeps or a process is stopped there
// are none, and nobody is blamed for that time.
//
//   DeafnessProbe probe;
//   // Every kInterval:
//   if (absl::Status deaf = probe.Look(seen); !deaf.ok()) ...
//
// Thread safety: for one thread.
#ifndef WAVETUNE_SERVER_RPC_DEAFNESS_PROBE_H_
#define WAVETUNE_SERVER_RPC_DEAFNESS_PROBE_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace wavetune {

class DeafnessProbe {
 public:
  // What a look sees.
  struct Seen {
    uint64_t rounds = 0;   // The listener's loop's, one a second at least.
    uint64_t tries = 0;    // To take a connection, whatever came of them.
    bool waiting = false;  // A connection waits to be taken.
  };

  static constexpr std::chrono::seconds kInterval{1};
  // Looks in a row that see no progress before the listener counts as deaf:
  // half a minute is more than a loaded machine takes for a round.
  static constexpr int kLooks = 30;

  // Takes a look, kInterval after the one before. Errors: UNAVAILABLE saying
  // since when the listener is deaf.
  absl::Status Look(const Seen& now) {
    still_ = now.rounds == last_.rounds ? still_ + 1 : 0;
    unheard_ = now.waiting && now.tries == last_.tries ? unheard_ + 1 : 0;
    last_ = now;
    if (still_ >= kLooks) return Deaf("the thread that accepts hangs");
    if (unheard_ >= kLooks) return Deaf("connections wait and none is taken");
    return absl::OkStatus();
  }

 private:
  static absl::Status Deaf(const char* why) {
    return absl::UnavailableError(absl::StrCat(
        why, ", for ", (kLooks * kInterval).count(), " s at least"));
  }

  Seen last_;
  int still_ = 0;    // Looks in a row without a round.
  int unheard_ = 0;  // With a connection that waits, and no try.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_DEAFNESS_PROBE_H_
