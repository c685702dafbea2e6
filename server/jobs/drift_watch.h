// DriftWatch: has a table that became stale judged anew, without anybody
// asking.
//
// A device that came back with another driver is served yesterday's table; each
// Look queues one job with a drift probe (drift_job.h) for such a kernel and
// class of devices. A pinned table is left alone, and one rolled back to for
// the environment of the rollback. So is a kernel whose sources were edited:
// its author says when it is finished. After a job that left the table stale
// the next one comes after ten minutes, then after twice as long each time, up
// to a day.
//
// Thread safety: one Look at a time.
#ifndef WAVETUNE_SERVER_JOBS_DRIFT_WATCH_H_
#define WAVETUNE_SERVER_JOBS_DRIFT_WATCH_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/kernel/device.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/measurement_executor.h"
#include "server/store/records.h"

namespace wavetune {

class DriftWatch {
 public:
  // All outlive the watch. `warn` hears of jobs that could not be queued.
  struct Options {
    TableCatalog* tables = nullptr;
    KernelCatalog* kernels = nullptr;
    ExecutorDirectory* executors = nullptr;
    JobQueue* jobs = nullptr;
    Clock* clock = nullptr;
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };

  explicit DriftWatch(Options options) : options_(std::move(options)) {}

  // Cannot fail. Cost: a look at each serving table, for each class of attached
  // devices; a write where a job is queued.
  void Look();

  // Whether looks queue a job for a table that is stale. Not beside a Look.
  bool WillJudge(const TableRecord& table);

 private:
  struct Attempts {
    int made = 0;
    Clock::Duration next{};
  };

  // A device of each class that is attached.
  std::vector<DeviceFacts> Classes();
  // Looks at the tables of one class.
  void LookAt(const DeviceFacts& device);
  // Returns the kernel's key on a device, as the catalogue has it now, and what
  // serves there where a job shall judge it.
  struct ToJudge {
    ProfileKey key;
    std::optional<TableRecord> serving;
  };
  std::optional<ToJudge> Judged(const std::string& kernel,
                                const DeviceFacts& device);
  // Queues a job where it is time for one.
  void Attempt(const ProfileKey& key, const TableRecord& serving,
               const DeviceFacts& device);
  // Whether a job shall judge the table on the device, whose key is `key`.
  bool IsToBeJudged(const TableRecord& serving, const ProfileKey& key,
                    const DeviceFacts& device);
  void Queue(const ProfileKey& key, const TableRecord& serving,
             const DeviceFacts& device);

  const Options options_;
  // For tables that were stale when their class was attached last: a device
  // that comes and goes is not judged each time.
  std::map<ProfileKey, Attempts> attempts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DRIFT_WATCH_H_
