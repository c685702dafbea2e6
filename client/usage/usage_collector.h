// UsageCollector: the recorders of a client, and what they have recorded since
// the last report, in bounded memory.
//
//   UsageCollector collector;
//   table_state.usage = collector.Recorder(identity);   // any thread
//   collector.Drain();                                  // every few seconds
//   UsageBatch batch = collector.Collected();
//   if (Send(batch).ok()) collector.Clear();
//
// Bounded: kMostRecorders tables, kMostProblems problems each. Further tables
// are not recorded: Recorder answers with nullptr.
//
// Thread safety: Recorder from any thread; the rest from one thread at a time.
#ifndef WAVETUNE_CLIENT_USAGE_USAGE_COLLECTOR_H_
#define WAVETUNE_CLIENT_USAGE_USAGE_COLLECTOR_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "client/usage/usage_recorder.h"
#include "client/usage/usage_sender.h"
#include "usage/heavy_hitters.h"

namespace wavetune {

class UsageCollector {
 public:
  static constexpr size_t kMostRecorders = 64;
  static constexpr size_t kMostProblems = 64;

  // Returns the recorder of a table's decisions; the same one for the same
  // identity. nullptr where there are too many, or the identity has no
  // dimensions. It records into nothing once the collector is gone.
  std::shared_ptr<UsageRecorder> Recorder(const UsageIdentity& identity);

  // Takes the recorders' decisions. Recorders that nobody else holds any more
  // are let go once what they had is cleared.
  void Drain();

  // Returns the decisions drained since Clear. Tables without decisions are
  // left out.
  UsageBatch Collected() const;

  void Clear();

 private:
  struct Recorded {
    explicit Recorded(UsageIdentity i);
    // Takes the decisions since the last call.
    void Drain();
    // Forgets drained ones; returns whether there is, or may come, more.
    bool ClearAndTell();

    UsageIdentity identity;
    std::shared_ptr<UsageRecorder> recorder;
    UsageCounts counts;
    HeavyHitters problems{kMostProblems};
  };

  mutable std::mutex mutex_;
  std::vector<Recorded> recorded_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_USAGE_COLLECTOR_H_
