// UsageTopUps: queues a small profile where too many decisions rest on little.
//
//   UsageTopUps top_ups(services, {});
//   top_ups.Consider("gemm", silicon_key);   // after a report of use
//
// Rule: of at least `fewest_decisions` with the serving table, more than
// `most_uncertain` were EXTRAPOLATED or had a relative bound above
// kWideBound. Decisions decay: the last days count. So it has to be for
// `due_for_s`: a single report, true or not, decides nothing. Then one
// top-up is queued for the kernel on an attached device of the table's
// class. It is a profile that measures some more samples per candidate, at
// the problems in use. There is none while a profile of the pair waits or
// runs. Between two top-ups lies `interval_s`. It doubles with each one that
// leaves the uncertain share above nine tenths of the earlier one, up to 32
// times.
//
// Out of scope, because more samples are no answer: a kernel that was edited,
// and a device whose driver or power limit changed, since the table was made.
//
// Source: docs/usage.md. Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_USAGE_USAGE_TOP_UPS_H_
#define WAVETUNE_SERVER_USAGE_USAGE_TOP_UPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/measurement_executor.h"
#include "server/usage/usage_ledger.h"

namespace wavetune {

class UsageTopUps {
 public:
  struct Options {
    bool enabled = true;
    double most_uncertain = 0.05;
    double fewest_decisions = 10000;
    double due_for_s = 600;  // Seen with reports at both ends of it.
    double interval_s = 6 * 3600;
    double retry_s = 600;  // After a job that could not be queued.
    double budget_s = 20;  // Device time of a top-up.
  };
  // What it works with; all outlive it.
  struct Services {
    UsageLedger* ledger = nullptr;
    JobQueue* jobs = nullptr;
    TableCatalog* tables = nullptr;
    KernelCatalog* kernels = nullptr;
    ExecutorDirectory* executors = nullptr;
    Clock* clock = nullptr;
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };

  UsageTopUps(Services services, Options options);

  // Queues a top-up where one is due, and returns its job. Cannot fail:
  // what could not be queued is warned of, and tried again later. Cost: a
  // look-up where nothing is due.
  std::optional<JobRecord> Consider(const std::string& kernel,
                                    const std::string& silicon_key);

  // Holds from the next consideration on.
  void SetOptions(const Options& options);

  bool enabled() const;

 private:
  using Key = std::pair<std::string, std::string>;

  bool IsDue(const UsageRecord& record, int64_t now_us) const;
  // Whether `due` was so for long enough. Holds mutex_.
  bool IsDueForLong(const Key& key, bool due, int64_t now_us);
  // Returns how many top-ups in a row, up to the last, did not help.
  static int32_t InVain(const UsageRecord& record);
  // The target of a top-up: an attached device that the table was made for, and
  // the table's kernel.
  struct Target {
    std::string device_uuid;
    std::string fingerprint;
  };
  // Nothing where no such device is attached, or the kernel was edited.
  std::optional<Target> TargetFor(const UsageRecord& record) const;
  std::string ReasonFor(const UsageRecord& record) const;

  const Services services_;
  mutable std::mutex options_mutex_;
  Options asked_;     // Guarded by options_mutex_.
  std::mutex mutex_;  // One consideration at a time.
  // Guarded by mutex_: those of the last consideration.
  Options options_;
  // Guarded by mutex_, and of kernels and silicon in the ledger alone: when a
  // job that could not be queued is tried again, and since when one is due.
  std::map<Key, int64_t> retry_at_us_;
  std::map<Key, int64_t> due_since_us_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_USAGE_USAGE_TOP_UPS_H_
