#include "profiler_agent/worker/worker_error.h"

#include <cstddef>
#include <string>

#include "base/printable_text.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

// Of what a compiler says the beginning counts.
constexpr size_t kMaxWorkerErrorBytes = size_t{64} << 10;

v1::WorkerError::Kind KindOf(Resource resource) {
  switch (resource) {
    case Resource::kDisk:
      return v1::WorkerError::DISK;
    case Resource::kProcesses:
      return v1::WorkerError::PROCESSES;
    case Resource::kMemory:
    case Resource::kKilled:
      break;
  }
  return v1::WorkerError::MEMORY;
}

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
      error.set_kind(KindOf(*ExhaustedResource(status)));
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
      return ExhaustedError(Resource::kMemory, error.message());
    case v1::WorkerError::DISK:
      return ExhaustedError(Resource::kDisk, error.message());
    case v1::WorkerError::PROCESSES:
      return ExhaustedError(Resource::kProcesses, error.message());
    case v1::WorkerError::REFERENCE:
      return absl::UnimplementedError(error.message());
    case v1::WorkerError::FAULT:
      return absl::AbortedError(error.message());
    default:
      return absl::InternalError(error.message());
  }
}

}  // namespace wavetune
