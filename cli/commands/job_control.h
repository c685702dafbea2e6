// JobControl: starts, watches and cancels the daemon's jobs.
#ifndef WAVETUNE_CLI_COMMANDS_JOB_CONTROL_H_
#define WAVETUNE_CLI_COMMANDS_JOB_CONTROL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/admin_service.pb.h"

namespace wavetune::cli {

// Errors: as StatusReader; CANCELLED where the user interrupted a stream.
class JobControl {
 public:
  virtual ~JobControl() = default;
  virtual absl::StatusOr<v1::ReprofileResponse> Reprofile(
      const v1::ReprofileRequest& request) = 0;
  virtual absl::StatusOr<v1::JobInfo> CancelJob(uint64_t id) = 0;
  // Calls `on_job` for every change until the job ends.
  virtual absl::Status WatchJob(
      uint64_t id, const std::function<void(const v1::JobInfo&)>& on_job) = 0;
  // Calls `on_event` for progress and results until the measuring job ends.
  virtual absl::Status Measure(
      const v1::MeasureRequest& request,
      const std::function<void(const v1::MeasureResponse&)>& on_event) = 0;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_JOB_CONTROL_H_
