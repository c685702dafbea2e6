// Activity: counts of what a daemon has done since its start, for metrics.
//
//   Activity activity;
//   activity.Add(job);          // when it has ended
//   activity.counts().samples_clean;
//
// Why beside stores and journals: those keep the present state, or the newest;
// a rate needs numbers that only grow. No request waits for it: the counted
// events are rare, or reported in sums.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_METRICS_ACTIVITY_H_
#define WAVETUNE_SERVER_METRICS_ACTIVITY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "server/store/event_store.h"
#include "server/store/records.h"
#include "server/usage/usage_ledger.h"

namespace wavetune {

class Activity {
 public:
  // Names that are counted each for itself; what comes beyond is counted under
  // kOthers, as anybody may report the use of any name.
  static constexpr size_t kMostKernels = 256;
  static constexpr size_t kMostDevices = 128;
  static constexpr char kOthers[] = "(others)";

  struct Counts {
    std::map<EventKind, uint64_t> events;
    // Jobs that have ended.
    std::map<JobState, uint64_t> jobs;
    // Failed jobs by kernel: those that found that a table does not hold
    // here.
    std::map<std::string, uint64_t> disproving_jobs;
    uint64_t clean_samples = 0;
    uint64_t throttled_samples = 0;
    std::map<std::string, double> device_seconds;  // By UUID.
    // By kernel and silicon key: of the regime that drifted most in the last
    // drift probe that had something to compare with, the median of latency now
    // / latency then.
    std::map<std::pair<std::string, std::string>, double> drift_probe_ratios;
    // By kernel; a decision counts once, as in usage_record.h.
    std::map<std::string, UsageWeights> decisions;
  };

  void Add(const EventRecord& event);
  // Does nothing for a job that has not ended.
  void Add(const JobRecord& job);
  void Add(const UsageReport& report);
  // Does nothing for a job whose probe compared nothing, or that has none.
  void AddDriftProbe(const JobRecord& job);

  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_METRICS_ACTIVITY_H_
