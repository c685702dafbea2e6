// StatusReader: what the daemon knows, as the command line reads it.
#ifndef WAVETUNE_CLI_COMMANDS_STATUS_READER_H_
#define WAVETUNE_CLI_COMMANDS_STATUS_READER_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/usage_service.pb.h"

namespace wavetune::cli {

// Every method is one RPC. Errors: the daemon's; UNAVAILABLE with what to do
// where it cannot be reached; of a stream CANCELLED where the user interrupted.
class StatusReader {
 public:
  virtual ~StatusReader() = default;
  virtual absl::StatusOr<v1::GetStatusResponse> GetStatus() = 0;
  virtual absl::StatusOr<v1::ListDevicesResponse> ListDevices() = 0;
  virtual absl::StatusOr<v1::ListKernelsResponse> ListKernels() = 0;
  // Newest first; 0 means the daemon's default number.
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs(int32_t limit) = 0;
  virtual absl::StatusOr<v1::JobInfo> GetJob(uint64_t id) = 0;
  // UNIMPLEMENTED from an older daemon. 0 problems: the daemon's default.
  virtual absl::StatusOr<v1::GetUsageResponse> GetUsage(int32_t problems) = 0;
  // A stream: calls `on_message` for each of its messages.
  virtual absl::Status ListSamples(
      const v1::ListSamplesRequest& request,
      const std::function<void(const v1::ListSamplesResponse&)>&
          on_message) = 0;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_STATUS_READER_H_
