// JobRequests: what a request to profile or to measure means on this node:
// which devices and kernels, and the record of each job. Queues nothing.
//
//   const JobRequests requests(services);
//   ASSIGN_OR_RETURN(auto pairs, requests.Pairs({.kernel = "gemm"}));
//   ASSIGN_OR_RETURN(JobRecord job, requests.Reprofile(request, pairs[0]));
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_JOBS_JOB_REQUESTS_H_
#define WAVETUNE_SERVER_JOBS_JOB_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "server/jobs/job_services.h"
#include "server/jobs/measuring_job.h"
#include "server/store/records.h"

namespace wavetune {

// What to profile. Empty names mean all.
struct ReprofileRequest {
  std::string kernel;
  // Empty: the attached ones, one job for each class of them.
  std::string device_uuid;
  std::string silicon_key;      // Not empty: only devices of this class.
  std::string environment_key;  // The same, where it is not empty.
  bool single_device = false;   // A job keeps to one device of its class.
  int32_t priority = 0;         // Jobs of a higher one go first.
  std::string reason;
  std::string by = kDaemonUser;  // Who asks.
  bool fresh = false;            // Measures everything anew.
  JobOptions options;
  // Not empty: only the kernel of this fingerprint, as the catalogue has it
  // now. Whoever asks on others' behalf decided for that version, and must not
  // have a later edit read and run.
  std::string fingerprint;
};

class JobRequests {
 public:
  // What a request may say for a reason: longer ones are cut.
  static constexpr size_t kMaxReasonBytes = 1024;
  // From its negative on.
  static constexpr int32_t kMaxPriority = 100;

  // What a job is for; of a class of devices, one of them.
  struct Pair {
    std::string kernel;
    DeviceFacts device;
  };

  // `services` outlives the object.
  explicit JobRequests(const JobServices& services) : services_(services) {}

  // Returns what a request is for: each kernel on each device, or on one of
  // each class. Errors: as JobQueue::Reprofile.
  absl::StatusOr<std::vector<Pair>> Pairs(
      const ReprofileRequest& request) const;

  // Returns the job that a request means for a pair, without an id. Errors: as
  // JobQueue::Reprofile.
  absl::StatusOr<JobRecord> Reprofile(const ReprofileRequest& request,
                                      const Pair& pair) const;

  // The same of measuring. Errors: as JobQueue::Measure.
  absl::StatusOr<JobRecord> Measure(const MeasureRequest& request) const;

 private:
  absl::StatusOr<std::vector<DeviceFacts>> KnownDevices() const;
  absl::StatusOr<std::vector<DeviceFacts>> DevicesFor(
      const std::string& device_uuid, bool refit_only) const;

  const JobServices& services_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_REQUESTS_H_
