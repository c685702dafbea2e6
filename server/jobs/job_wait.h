// JobWait: what a job says while nothing is measured for it.
//
//   JobWait wait(&control, clock);
//   while (busy) { wait.Show("waiting: GPU-1 is used by ..."); ... }
//   // The job says again what it said before.
//
// Thread safety: none; of one thread of the job.
#ifndef WAVETUNE_SERVER_JOBS_JOB_WAIT_H_
#define WAVETUNE_SERVER_JOBS_JOB_WAIT_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/jobs/device_leases.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

class JobWait {
 public:
  // Both outlive this.
  JobWait(JobControl* control, Clock* clock)
      : control_(control), clock_(clock) {}
  ~JobWait() { End(); }
  JobWait(const JobWait&) = delete;
  JobWait& operator=(const JobWait&) = delete;

  // Says what the job waits for, and since when it does. Cost: nothing where it
  // says so already.
  void Show(const std::string& why);
  // The job goes on.
  void End();

  bool waits() const { return !shown_.empty(); }
  // Since the first Show; 0 where it does not wait.
  double WaitedS() const;

 private:
  JobControl* const control_;
  Clock* const clock_;
  std::string shown_;
  JobRecord before_;
  Clock::Duration since_{0};
};

// Waits until no other job uses a device; the job says which one does. Errors:
// CANCELLED.
absl::StatusOr<DeviceLease> AwaitLease(const JobServices& services,
                                       JobControl* control,
                                       const std::string& device_uuid);

// "9 min 18 s".
std::string DurationText(double seconds);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_WAIT_H_
