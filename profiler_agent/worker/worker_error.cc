#include "profiler_agent/worker/worker_error.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace wavetune {

v1::WorkerError ToWorkerError(const absl::Status& status) {
  v1::WorkerError error;
  std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      error.set_kind(v1::WorkerError::COMPILE);
      break;
    case absl::StatusCode::kDataLoss:
      error.set_kind(v1::WorkerError::WRONG_RESULT);
      break;
    case absl::StatusCode::kResourceExhausted:
      message = absl::StrCat("out of device memory: ", message);
      [[fallthrough]];
    case absl::StatusCode::kFailedPrecondition:
      error.set_kind(v1::WorkerError::LAUNCH);
      break;
    case absl::StatusCode::kUnavailable:
      error.set_kind(v1::WorkerError::DEVICE);
      break;
    default:
      error.set_kind(v1::WorkerError::REQUEST);
  }
  error.set_message(message);
  return error;
}

absl::Status FromWorkerError(const v1::WorkerError& error) {
  switch (error.kind()) {
    case v1::WorkerError::COMPILE:
      return absl::InvalidArgumentError(error.message());
    case v1::WorkerError::WRONG_RESULT:
      return absl::DataLossError(error.message());
    case v1::WorkerError::LAUNCH:
      return absl::FailedPreconditionError(error.message());
    case v1::WorkerError::DEVICE:
      return absl::UnavailableError(error.message());
    default:
      return absl::InternalError(error.message());
  }
}

}  // namespace wavetune
