// JobControl: one job's record while the daemon runs, and the levers on it.
//
// The worker thread changes the record through Update; everyone else reads
// copies, listens, or asks the job to end.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_JOBS_JOB_CONTROL_H_
#define WAVETUNE_SERVER_JOBS_JOB_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "server/jobs/listeners.h"
#include "server/store/job_store.h"
#include "server/store/records.h"

namespace wavetune {

class JobControl {
 public:
  using Listener = Listeners<JobRecord>::Listener;
  using Handle = Listeners<JobRecord>::Handle;

  // How a change reaches the disk: not at all (it repeats soon), some time, or
  // before Update returns.
  enum class Persist { kNo, kLazily, kSynced };

  struct Watch {
    JobRecord record;
    Handle handle;  // Drop to end.
  };

  // `store` outlives the control. `warn` hears of records that could not be
  // written: a full store must not end a job's bookkeeping.
  JobControl(JobRecord record, JobStore* store,
             std::function<void(const std::string&)> warn);

  JobRecord record() const;

  // Changes the record, then persists it and tells listeners, in that order.
  void Update(const std::function<void(JobRecord&)>& change,
              Persist persist = Persist::kNo);

  // Whether a change that was to be persisted could not be: on disk the job
  // still is what it was.
  bool unsaved() const { return unsaved_.load(); }

  // Persists the record where it is unsaved. Errors: the store's.
  absl::Status Save();

  // Returns the record with a handle on later changes: none is missed.
  Watch Subscribe(Listener listener);

  // Ask the job to end: for good, or until the daemon starts again. From Cancel
  // on the store has the record as that of a cancelled job. So a daemon that is
  // killed before the job has ended does not go on with it.
  void Cancel(int64_t now_us);
  void Stop();
  bool cancelled() const { return cancelled_.load(); }
  bool stopping() const { return stopping_.load(); }

  // Returns CANCELLED once the job was asked to end.
  absl::Status CheckGoOn() const;

  // What Cancel and Stop call to end the batch that `owner` runs; empty for
  // nothing. Each device of a job is an owner.
  void SetInterrupt(const void* owner, std::function<void()> interrupt);

 private:
  void Interrupt();
  // Holds update_mutex_.
  absl::Status Store(const JobRecord& record, bool sync);
  // Returns `record` as it is stored.
  JobRecord Stored(JobRecord record) const;

  JobStore* const store_;
  const std::function<void(const std::string&)> warn_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> unsaved_ = false;
  std::atomic<int64_t> cancelled_at_us_ = 0;  // Set before cancelled_.
  std::mutex update_mutex_;  // Serialises updates; taken before mutex_.
  mutable std::mutex mutex_;
  JobRecord record_;                // Guarded by mutex_.
  Listeners<JobRecord> listeners_;  // Guarded by mutex_.
  std::mutex interrupt_mutex_;
  // Guarded by interrupt_mutex_.
  std::map<const void*, std::function<void()>> interrupts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_CONTROL_H_
