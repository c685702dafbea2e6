#include "profiler_agent/worker/worker_error.h"

#include <cstddef>
#include <string>

#include "model/printable_text.h"

namespace wavetune {
namespace {

// Of what a compiler says the beginning counts.
constexpr size_t kMaxWorkerErrorBytes = size_t{64} << 10;

}  // namespace

v1::WorkerError ToWorkerError(const absl::Status& status) {
  v1::WorkerError error;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      error.set_kind(v1::WorkerError::COMPILE);
      break;
    case absl::StatusCode::kDataLoss:
      error.set_kind(v1::WorkerError::WRONG_RESULT);
      break;
    case absl::StatusCode::kResourceExhausted:
      error.set_kind(v1::WorkerError::MEMORY);
      break;
    case absl::StatusCode::kFailedPrecondition:
      error.set_kind(v1::WorkerError::LAUNCH);
      break;
    case absl::StatusCode::kUnavailable:
      error.set_kind(v1::WorkerError::DEVICE);
      break;
    case absl::StatusCode::kUnimplemented:
      error.set_kind(v1::WorkerError::REFERENCE);
      break;
    case absl::StatusCode::kAborted:
      error.set_kind(v1::WorkerError::FAULT);
      break;
    default:
      error.set_kind(v1::WorkerError::REQUEST);
  }
  error.set_message(BoundedText(status.message(), kMaxWorkerErrorBytes));
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
    case v1::WorkerError::MEMORY:
      return absl::ResourceExhaustedError(error.message());
    case v1::WorkerError::REFERENCE:
      return absl::UnimplementedError(error.message());
    case v1::WorkerError::FAULT:
      return absl::AbortedError(error.message());
    default:
      return absl::InternalError(error.message());
  }
}

}  // namespace wavetune
